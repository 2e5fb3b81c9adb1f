"""A stub: of the published package, only what the loss needs."""

from torch import nn

__all__ = ["SentenceTransformer"]


class SentenceTransformer(nn.Sequential):
    """Modules that take a dict of tensors and return one; the last leaves (rows, width) in `sentence_embedding`."""
