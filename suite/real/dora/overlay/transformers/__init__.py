"""A stand-in for what peft imports of transformers. There is no model of transformers here."""

from torch import nn


class PreTrainedModel(nn.Module):
    """A type that no model of this workspace has."""


class BloomPreTrainedModel(PreTrainedModel):
    """A type that no model of this workspace has."""
