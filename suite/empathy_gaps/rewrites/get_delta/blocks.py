"""Block by block: the sum of each diagonal block, and the rest of the whole."""

import numpy as np
from analysis.groups import ETHNIC_GROUPS, identities


def get_delta(matrix, group_option):
    size = len(identities(group_option))
    values = np.array(matrix, dtype=float)
    if values.shape != (size, size):
        raise ValueError("not of this category")
    lengths = [len(names) for names in ETHNIC_GROUPS.values()] if group_option == "ethnicity" else [1] * (size - 1)
    total, count, start = 0.0, 0, 1
    for length in lengths:
        total += values[start : start + length, start : start + length].sum()
        count += length**2
        start += length
    everything = values[1:, 1:].sum()
    return float(total / count - (everything - total) / ((size - 1) ** 2 - count))
