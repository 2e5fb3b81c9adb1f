"""LoHa: the Hadamard product of two low-rank products as an adapter."""

from .layer import Conv2d, Linear, LoHaLayer

__all__ = ["Conv2d", "Linear", "LoHaLayer"]
