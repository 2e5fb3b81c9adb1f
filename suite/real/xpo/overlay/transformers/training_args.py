"""A stand-in: optimizers that want to know the learning rate early."""

from enum import Enum


class OptimizerNames(Enum):
    """Their names."""

    LOMO = "lomo"
    ADALOMO = "adalomo"
