"""A stand-in: names that the trainer imports."""

__all__ = ["Dataset", "IterableDataset"]


class Dataset:
    """A name for annotations."""


class IterableDataset:
    """A name for annotations."""
