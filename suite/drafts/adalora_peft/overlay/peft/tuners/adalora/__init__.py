"""AdaLoRA: increments in the form of a singular value decomposition, and the allocator of their ranks."""

from .config import AdaLoraConfig
from .layer import AdaLoraLayer, RankAllocator, SVDLinear

__all__ = ["AdaLoraConfig", "AdaLoraLayer", "RankAllocator", "SVDLinear"]
