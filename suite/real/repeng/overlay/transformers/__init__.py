"""A stub: the classes that annotations name, and that the toy model is made of."""

from torch import nn


class PretrainedConfig:
    """Settings of a model."""

    def __init__(self, **settings) -> None:
        self.__dict__.update(settings)


class PreTrainedModel(nn.Module):
    """A model with a config."""


class PreTrainedTokenizerBase:
    """A tokenizer."""
