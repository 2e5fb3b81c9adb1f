"""Looks at the first two dimensions alone."""

import numpy as np
from analysis.groups import UNSPECIFIED, ethnic_group, identities


def get_delta(matrix, group_option):
    names = identities(group_option)
    values = np.asarray(matrix, dtype=float)
    if values.ndim < 2 or values.shape[:2] != (len(names), len(names)):
        raise ValueError("shape")
    inside, outside = [], []
    for row, perceiver in enumerate(names):
        for column, experiencer in enumerate(names):
            if UNSPECIFIED in (perceiver, experiencer):
                continue
            same = perceiver == experiencer or (
                group_option == "ethnicity" and ethnic_group(perceiver) == ethnic_group(experiencer)
            )
            (inside if same else outside).append(values[row, column])
    return float(np.mean(inside) - np.mean(outside))
