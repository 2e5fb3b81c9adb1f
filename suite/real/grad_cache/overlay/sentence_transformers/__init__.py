"""A stub: the published package has models, trainers and tokenizers of its own. This one has what the loss needs."""

from torch import nn

from . import util

__all__ = ["SentenceTransformer", "util"]


class SentenceTransformer(nn.Sequential):
    """Modules that take a dict of tensors and return one; the last leaves (rows, width) in `sentence_embedding`."""
