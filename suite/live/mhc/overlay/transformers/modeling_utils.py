"""Stand-ins for the base of whole models."""

from torch import nn

ALL_ATTENTION_FUNCTIONS = {}


class PreTrainedModel(nn.Module):
    """Not used here."""


def slice_logits_to_keep(*args):
    """Not done here."""
    raise NotImplementedError
