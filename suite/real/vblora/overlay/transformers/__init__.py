"""A stand-in: names that peft imports. No model of transformers is used here."""

from torch import nn

__all__ = ["BloomPreTrainedModel", "PreTrainedModel"]


class PreTrainedModel(nn.Module):
    """A name to ask for with isinstance."""


class BloomPreTrainedModel(PreTrainedModel):
    """A name to ask for with isinstance."""
