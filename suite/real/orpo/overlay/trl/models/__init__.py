"""A stand-in: a name that the trainer imports."""

from torch import nn

__all__ = ["PreTrainedModelWrapper"]


class PreTrainedModelWrapper(nn.Module):
    """A name for annotations."""
