"""A stand-in: names that the trainer imports. No model of transformers is used here."""

from torch import nn

__all__ = ["AutoModelForCausalLM", "GenerationConfig", "PreTrainedModel"]


class PreTrainedModel(nn.Module):
    """A name for annotations."""


class AutoModelForCausalLM:
    """Would load a model by its name."""


class GenerationConfig:
    """How to generate: whatever it is given, as attributes."""

    def __init__(self, **settings):
        vars(self).update(settings)
