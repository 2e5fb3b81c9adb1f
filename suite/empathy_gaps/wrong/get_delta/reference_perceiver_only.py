"""Leaves out the row of the unspecified perceiver, but not the column of the unspecified experiencer."""

import numpy as np
from analysis.groups import UNSPECIFIED, ethnic_group, identities


def get_delta(matrix, group_option):
    names = identities(group_option)
    values = np.asarray(matrix, dtype=float)
    if values.shape != (len(names), len(names)):
        raise ValueError("shape")
    inside, outside = [], []
    for row, perceiver in enumerate(names):
        for column, experiencer in enumerate(names):
            if perceiver == UNSPECIFIED:
                continue
            same = perceiver == experiencer or (
                group_option == "ethnicity"
                and experiencer != UNSPECIFIED
                and ethnic_group(perceiver) == ethnic_group(experiencer)
            )
            (inside if same else outside).append(values[row, column])
    return float(np.mean(inside) - np.mean(outside))
