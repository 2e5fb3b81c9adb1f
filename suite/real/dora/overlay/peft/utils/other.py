"""A stand-in for the helpers of the package, with the one that layers of LoRA call."""

from torch import nn


def transpose(weight, fan_in_fan_out):
    """The weight with its dimensions swapped if `fan_in_fan_out` is true; a parameter becomes another parameter."""
    if not fan_in_fan_out:
        return weight
    return nn.Parameter(weight.T) if isinstance(weight, nn.Parameter) else weight.T
