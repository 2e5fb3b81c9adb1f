"""Takes countries of one cultural region for one group."""

import numpy as np
from analysis.groups import UNSPECIFIED, cultural_region, ethnic_group, identities


def get_delta(matrix, group_option):
    names = identities(group_option)
    values = np.asarray(matrix, dtype=float)
    if values.shape != (len(names), len(names)):
        raise ValueError("shape")
    inside, outside = [], []
    for row, perceiver in enumerate(names):
        for column, experiencer in enumerate(names):
            if UNSPECIFIED in (perceiver, experiencer):
                continue
            same = perceiver == experiencer or (
                (group_option == "ethnicity" and ethnic_group(perceiver) == ethnic_group(experiencer))
                or (group_option == "nationality" and cultural_region(perceiver) == cultural_region(experiencer))
            )
            (inside if same else outside).append(values[row, column])
    return float(np.mean(inside) - np.mean(outside))
