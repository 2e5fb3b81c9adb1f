"""A stand-in for a type in annotations."""


class PreTrainedModel:
    """Not used here."""
