"""As two products with a matrix of indicators."""

import numpy as np
from analysis.groups import ethnic_group, identities


def get_delta(matrix, group_option):
    names = identities(group_option)[1:]
    values = np.asarray(matrix, dtype=float)
    if values.ndim != 2 or values.shape[0] != values.shape[1] or len(values) != len(names) + 1:
        raise ValueError("a row and a column for each identity")
    groups = [ethnic_group(name) for name in names] if group_option == "ethnicity" else list(names)
    member = np.array([[float(group == other) for other in sorted(set(groups))] for group in groups])
    same = member @ member.T
    specified = values[1:, 1:]
    return float(np.sum(same * specified) / same.sum() - np.sum((1 - same) * specified) / (1 - same).sum())
