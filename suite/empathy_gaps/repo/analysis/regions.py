"""Do perceivers from one cultural region see others alike (Section 5.2)?"""

from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from analysis.groups import cultural_region, identities


def view_similarity(matrix: NDArray[np.float64]) -> tuple[float, float]:
    """How alike two nations see all experiencers, on average: in one region, and in different ones.

    matrix: of the category nationality. Likeness is the correlation of their rows.
    """
    correlations = np.corrcoef(matrix)
    within, between = [], []
    for (one, name), (other, other_name) in combinations(list(enumerate(identities("nationality")))[1:], 2):
        kin = cultural_region(name) == cultural_region(other_name)
        (within if kin else between).append(correlations[one, other])
    return float(np.mean(within)), float(np.mean(between))
