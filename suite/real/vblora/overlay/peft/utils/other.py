"""A stand-in for the helpers of the package, with the one that the layers of VB-LoRA call."""

from torch import nn


def transpose(weight, fan_in_fan_out):
    """The weight as a layer stores it that may hold inputs before outputs; what is a parameter stays one."""
    turned = weight.T if fan_in_fan_out else weight
    return nn.Parameter(turned) if fan_in_fan_out and isinstance(weight, nn.Parameter) else turned
