"""Random choices that a seed repeats, none of which touches the state of numpy's global generator."""

import numpy as np
from numpy.typing import NDArray

from config import ParameterRanges


def draw_order(count: int, seed: int) -> NDArray[np.int64]:
    """All of the numbers below count, in the order in which this seed draws them."""
    return np.random.default_rng(seed).permutation(count)


def draw_parameters(ranges: ParameterRanges, count: int, seed: int) -> list[tuple[float, float]]:
    """A factor and a class_sep for each of some collections of tasks."""
    generator = np.random.default_rng(seed)
    factors = generator.uniform(*ranges.factor, size=count)
    separations = generator.uniform(*ranges.class_sep, size=count)
    return list(zip(factors.tolist(), separations.tolist(), strict=True))
