"""How alike nations see others, within cultural regions and between them (Section 5.2)."""

from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from analysis.groups import cultural_region, identities


def view_similarity(matrix: NDArray[np.float64]) -> tuple[float, float]:
    """Compute how alike two nations see all experiencers, the unspecified one included: the correlation of their rows.

    Args:
        matrix: The matrix of the category nationality.

    Returns:
        The average over pairs of nations of one region, and over pairs of nations of different regions.
    """
    correlations = np.corrcoef(matrix)
    within, between = [], []
    for (one, name), (other, other_name) in combinations(list(enumerate(identities("nationality")))[1:], 2):
        kin = cultural_region(name) == cultural_region(other_name)
        (within if kin else between).append(correlations[one, other])
    return float(np.mean(within)), float(np.mean(between))
