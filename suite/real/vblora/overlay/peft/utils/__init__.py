"""A stand-in for the helpers of whole models; the layers need none of them."""

from torch import nn

from .constants import INCLUDE_LINEAR_LAYERS_SHORTHAND

__all__ = ["INCLUDE_LINEAR_LAYERS_SHORTHAND", "ModulesToSaveWrapper", "_get_submodules"]


class ModulesToSaveWrapper(nn.Module):
    """A name for what this workspace does without: a module that is trained and saved whole."""


def _get_submodules(model, key):
    """The parent of a module, the module, and its name within the parent."""
    parent, _, name = key.rpartition(".")
    return model.get_submodule(parent), model.get_submodule(key), name
