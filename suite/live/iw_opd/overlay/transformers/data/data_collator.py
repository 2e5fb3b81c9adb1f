"""A stand-in for a type in annotations."""


class DataCollator:
    """Not used here."""
