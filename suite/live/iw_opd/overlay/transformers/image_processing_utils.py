"""A stand-in for a type in annotations."""


class BaseImageProcessor:
    """Not used here."""
