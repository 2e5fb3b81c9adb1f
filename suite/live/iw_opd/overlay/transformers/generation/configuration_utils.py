"""A stand-in for a type in annotations."""


class GenerationConfig:
    """Not used here."""
