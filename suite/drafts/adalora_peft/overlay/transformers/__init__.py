"""A stand-in for what peft imports of transformers. There is no model of transformers here."""

# The adapter asks `packaging.version` for the order of versions, and imports `packaging` alone.
import packaging.version  # noqa: F401
from torch import nn

__version__ = "4.46.3"


class PreTrainedModel(nn.Module):
    """A type that no model of this workspace has."""


class BloomPreTrainedModel(PreTrainedModel):
    """A type that no model of this workspace has."""
