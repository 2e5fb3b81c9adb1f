"""Averages the gaps of perceivers. In the paper every in-group cell has the same weight, and every out-group cell."""

import numpy as np
from analysis.groups import ethnic_group, identities


def get_delta(matrix, group_option):
    names = identities(group_option)
    values = np.array(matrix, dtype=float)
    if values.shape != (len(names), len(names)):
        raise ValueError("shape")
    groups = np.array([ethnic_group(name) if group_option == "ethnicity" else name for name in names[1:]])
    gaps = [row[groups == own].mean() - row[groups != own].mean() for row, own in zip(values[1:, 1:], groups)]
    return float(np.mean(gaps))
