"""The logistic function and the softmax, for arrays."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def expit(scores: Array) -> Array:
    """The logistic function of each score."""
    return (1 + np.tanh(scores / 2)) / 2


def softmax(scores: Array) -> Array:
    """Shares that sum to 1 along the last axis."""
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)
