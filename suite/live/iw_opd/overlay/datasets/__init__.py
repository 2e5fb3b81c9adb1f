"""A stand-in for a type in annotations."""


class Dataset:
    """No dataset is used here."""
