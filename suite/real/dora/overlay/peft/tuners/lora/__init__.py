"""LoRA's layers, with DoRA as an option of each."""

from .config import LoraConfig
from .dora import DoraConv2dLayer, DoraEmbeddingLayer, DoraLinearLayer
from .layer import Conv2d, Embedding, Linear, LoraLayer

__all__ = [
    "Conv2d",
    "DoraConv2dLayer",
    "DoraEmbeddingLayer",
    "DoraLinearLayer",
    "Embedding",
    "Linear",
    "LoraConfig",
    "LoraLayer",
]
