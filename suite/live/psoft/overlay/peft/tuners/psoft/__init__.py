"""PSOFT: orthogonal fine-tuning in the principal subspace of a weight."""

from .config import PsoftConfig
from .layer import Linear, OrthLayer, PsoftLayer

__all__ = ["Linear", "OrthLayer", "PsoftConfig", "PsoftLayer"]
