"""Weights that grow linearly."""


def weights(count: int) -> list[float]:
    """The weights 1, 2, ... of `count` values."""
    return [float(position + 1) for position in range(count)]
