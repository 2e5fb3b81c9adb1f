"""A stub: only what the loss refuses."""

from torch import nn


class StaticEmbedding(nn.Module):
    """Embeddings without an encoder, for which there is nothing to cache."""
