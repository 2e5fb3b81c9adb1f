"""The permutation test of Section 3.4: is a gap score beyond what a matrix of the same rows and columns gives?"""

import numpy as np
from numpy.typing import NDArray

from analysis.metrics import get_delta


def permutation_bounds(
    matrix: NDArray[np.float64], group_option: str, permutations: int, seed: int, level: float = 0.95
) -> tuple[float, float]:
    """The lower and upper bound between which the score of a shuffled matrix lies with the given probability.

    Rows and columns are permuted, each as a whole: shuffled cells would not keep the matrix's structure.
    """
    generator = np.random.default_rng(seed)
    size = len(matrix)
    scores = [
        get_delta(matrix[generator.permutation(size)][:, generator.permutation(size)], group_option)
        for _ in range(permutations)
    ]
    lower, upper = np.quantile(scores, [(1 - level) / 2, (1 + level) / 2])
    return float(lower), float(upper)
