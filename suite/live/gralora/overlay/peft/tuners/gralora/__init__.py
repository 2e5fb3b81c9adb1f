"""GraLoRA: a grid of low-rank adapters for each weight."""

from .config import GraloraConfig
from .layer import GraloraLayer, Linear

__all__ = ["GraloraConfig", "GraloraLayer", "Linear"]
