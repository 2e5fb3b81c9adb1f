"""HRA: weights turned by a chain of Householder reflections."""

from .layer import HRAConv2d, HRALayer, HRALinear

__all__ = ["HRAConv2d", "HRALayer", "HRALinear"]
