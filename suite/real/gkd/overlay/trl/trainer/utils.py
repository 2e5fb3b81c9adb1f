"""A stand-in: names that the trainer imports."""

from torch import nn


class DataCollatorForChatML:
    """Would pad a batch of chats."""

    def __init__(self, **settings):
        vars(self).update(settings)


def disable_dropout_in_model(model):
    """Sets all dropout of a model to 0."""
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0


def empty_cache():
    """There is no cache to be emptied on a CPU."""
