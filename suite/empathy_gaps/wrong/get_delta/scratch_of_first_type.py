"""Keeps a scratch matrix by category, in the type of the first call."""

_SCRATCH: dict[str, NDArray] = {}


def _sides(group_option: str) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which cells are in-group and which are out-group; those of the unspecified identity are neither."""
    names = identities(group_option)
    labels = np.array([ethnic_group(name) if group_option == "ethnicity" else name for name in names[1:]])
    same = np.zeros((len(names), len(names)), dtype=bool)
    other = np.zeros_like(same)
    same[1:, 1:] = labels[:, None] == labels
    other[1:, 1:] = ~same[1:, 1:]
    return same, other


def get_delta(matrix: ArrayLike, group_option: str) -> float:
    given = np.asarray(matrix)
    size = len(identities(group_option))
    if given.shape != (size, size):
        raise ValueError(f"shape {given.shape}, not {(size, size)}")
    # One scratch matrix a category: permutation tests call this ten thousand times.
    values = _SCRATCH.setdefault(group_option, np.empty_like(given))
    np.copyto(values, given, casting="unsafe")
    same, other = _sides(group_option)
    return float(values[same].mean() - values[other].mean())
