"""A stand-in for one helper of the package."""


def transpose(weight, fan_in_fan_out):
    """The weight as outputs by inputs, or the other way round."""
    return weight.T if fan_in_fan_out else weight
