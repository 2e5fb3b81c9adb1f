"""A stand-in for a type in annotations."""


class ProcessorMixin:
    """Not used here."""
