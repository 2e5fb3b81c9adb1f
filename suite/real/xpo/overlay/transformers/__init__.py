"""A stand-in: names that the trainer imports. No model of transformers is used here."""

__all__ = ["PreTrainedTokenizerBase", "TrainerCallback", "is_apex_available"]


class PreTrainedTokenizerBase:
    """A name for annotations."""


class TrainerCallback:
    """A name for annotations."""


def is_apex_available():
    """It is not."""
    return False
