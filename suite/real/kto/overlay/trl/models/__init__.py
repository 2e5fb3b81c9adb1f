"""A stand-in: names that the trainer imports."""

from copy import deepcopy

from torch import nn

__all__ = ["PreTrainedModelWrapper", "create_reference_model"]


class PreTrainedModelWrapper(nn.Module):
    """A name for annotations."""


def create_reference_model(model):
    """A copy that stays what it is."""
    return deepcopy(model).eval().requires_grad_(False)
