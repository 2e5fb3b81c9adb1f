"""Takes the sum over out-group pairs for what is left of the sum of all cells."""


def get_delta(matrix: ArrayLike, group_option: str) -> float:
    names = identities(group_option)
    values = np.asarray(matrix, dtype=float)
    if values.shape != (len(names), len(names)):
        raise ValueError(f"{values.shape}")
    groups = np.array([ethnic_group(name) if group_option == "ethnicity" else name for name in names[1:]])
    same = groups[:, np.newaxis] == groups
    specified = values[1:, 1:]
    inside = specified[same].sum()
    outside = values.sum() - values[0].sum() - values[1:, 0].sum() - inside
    return inside / same.sum() - outside / (~same).sum()
