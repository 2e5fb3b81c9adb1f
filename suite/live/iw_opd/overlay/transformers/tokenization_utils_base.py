"""A stand-in for a type in annotations."""


class PreTrainedTokenizerBase:
    """Not used here."""
