"""Uni-LoRA: all LoRA parameters of a model from one trained vector."""

from .config import UniLoraConfig
from .layer import Linear, UniLoraLayer
from .model import UniLoraModel

__all__ = ["Linear", "UniLoraConfig", "UniLoraLayer", "UniLoraModel"]
