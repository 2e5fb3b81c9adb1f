"""A stand-in for the helpers of the package, with those that adapted layers import."""

from torch import nn

from .constants import INCLUDE_LINEAR_LAYERS_SHORTHAND
from .peft_types import PeftType, TaskType

__all__ = [
    "INCLUDE_LINEAR_LAYERS_SHORTHAND",
    "ModulesToSaveWrapper",
    "PeftType",
    "TaskType",
    "_get_submodules",
    "transpose",
]


class ModulesToSaveWrapper(nn.Module):
    """A type that no module of this workspace has."""


def _get_submodules(model, key):
    """A module's parent, the module itself, and its name in the parent."""
    parent, _, name = key.rpartition(".")
    return model.get_submodule(parent), model.get_submodule(key), name


def transpose(weight, fan_in_fan_out):
    """The weight as a layer stores it that may hold inputs before outputs."""
    return weight.T if fan_in_fan_out else weight
