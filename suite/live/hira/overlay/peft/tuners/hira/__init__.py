"""HiRA: high-rank updates by the element-wise product with the frozen weight."""

from .config import HiraConfig
from .layer import HiraLayer, Linear

__all__ = ["HiraConfig", "HiraLayer", "Linear"]
