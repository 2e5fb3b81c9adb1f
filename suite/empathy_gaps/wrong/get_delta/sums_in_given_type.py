"""Sums in the type of the matrix, where whole numbers wrap around and half precision overflows."""


def get_delta(matrix: ArrayLike, group_option: str) -> float:
    names = identities(group_option)
    values = np.asarray(matrix)
    if values.shape != (len(names), len(names)):
        raise ValueError(f"{values.shape}")
    groups = np.array([ethnic_group(name) if group_option == "ethnicity" else name for name in names[1:]])
    same = groups[:, np.newaxis] == groups
    specified = values[1:, 1:]
    return float(
        specified[same].sum(dtype=values.dtype) / same.sum() - specified[~same].sum(dtype=values.dtype) / (~same).sum()
    )
