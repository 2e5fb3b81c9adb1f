"""A stand-in for the helpers of whole models; the layers need none of them."""

from torch import nn

from .constants import INCLUDE_LINEAR_LAYERS_SHORTHAND

__all__ = ["INCLUDE_LINEAR_LAYERS_SHORTHAND", "ModulesToSaveWrapper", "_get_submodules"]


class ModulesToSaveWrapper(nn.Module):
    """A type that no module of this workspace has."""


def _get_submodules(model, key):
    """A module's parent, the module itself, and its name in the parent."""
    parent, _, name = key.rpartition(".")
    return model.get_submodule(parent), model.get_submodule(key), name
