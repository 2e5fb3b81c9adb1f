"""A stand-in: a name that the trainer imports."""

from torch import nn


class PreTrainedModel(nn.Module):
    """A name for annotations."""
