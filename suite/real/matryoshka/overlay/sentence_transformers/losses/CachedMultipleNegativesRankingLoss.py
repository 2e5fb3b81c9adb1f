"""A stub: the loss warns of this class, and uses nothing of it."""

from torch import nn


class CachedMultipleNegativesRankingLoss(nn.Module):
    """A loss that embeds texts more than once, and so does not fit into another."""
