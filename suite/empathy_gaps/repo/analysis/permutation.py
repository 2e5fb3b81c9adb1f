"""The permutation test of the gap score (Section 3.4)."""

import numpy as np
from numpy.typing import NDArray

from analysis.metrics import get_delta


def permutation_bounds(
    matrix: NDArray[np.float64], group_option: str, permutations: int, seed: int, level: float = 0.95
) -> tuple[float, float]:
    """Return the bounds between which the score of a permuted matrix lies with a probability of `level`.

    Args:
        matrix: Shape (identities, identities), with perceivers in rows.
        group_option: The category.
        permutations: The number of permuted matrices, at least one.
        seed: The seed of the permutations.
        level: The probability.

    Returns:
        The lower and the upper bound.
    """
    generator = np.random.default_rng(seed)
    size = len(matrix)
    scores = [
        get_delta(matrix[generator.permutation(size)][:, generator.permutation(size)], group_option)
        for _ in range(permutations)
    ]
    lower, upper = np.quantile(scores, [(1 - level) / 2, (1 + level) / 2])
    return float(lower), float(upper)
