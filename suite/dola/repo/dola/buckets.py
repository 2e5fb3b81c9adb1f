"""Buckets of candidate layers: consecutive ranges of the layers below the last, of which one is chosen."""

from itertools import pairwise


def bucket_layers(num_layers: int, buckets: int, stride: int = 1) -> list[tuple[int, ...]]:
    """The candidate layers of each bucket, from low to high.

    num_layers: the number of blocks; layers 0 to `num_layers` - 1 are divided.
    buckets: into how many ranges; the last one takes what is left over.
    stride: of every so many layers, the first alone is a candidate, counted from layer 0.
    """
    size = num_layers // buckets
    if size < 1:
        raise ValueError("there are more buckets than layers")
    bounds = [*range(0, size * buckets, size), num_layers]
    return [tuple(layer for layer in range(start, stop) if layer % stride == 0) for start, stop in pairwise(bounds)]
