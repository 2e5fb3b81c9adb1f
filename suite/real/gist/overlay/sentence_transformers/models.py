"""A stub: two kinds of first modules, for the loss to tell apart."""

from torch import nn


class Transformer(nn.Module):
    """What stands for a network that reads tokens."""


class StaticEmbedding(nn.Module):
    """Embeddings without a network."""
