"""Leaves out the cells of the unspecified identity by a factor of 0, which is NaN times 0 where they are not finite."""


def get_delta(matrix: ArrayLike, group_option: str) -> float:
    names = identities(group_option)
    values = np.asarray(matrix, dtype=float)
    if values.shape != (len(names), len(names)):
        raise ValueError(f"{values.shape}")
    groups = np.array([ethnic_group(name) if group_option == "ethnicity" else name for name in names[1:]])
    same = groups[:, np.newaxis] == groups
    within, between = np.pad(same, ((1, 0), (1, 0))), np.pad(~same, ((1, 0), (1, 0)))
    return (values * within).sum() / within.sum() - (values * between).sum() / between.sum()
