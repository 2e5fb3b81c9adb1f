"""A stand-in for the helpers that layers import from `peft.utils.other`."""


def transpose(weight, fan_in_fan_out):
    """Return a matrix in the layout (outputs, inputs), or convert one from it: transpose if `fan_in_fan_out`."""
    return weight.T if fan_in_fan_out else weight
