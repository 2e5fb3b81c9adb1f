"""A stand-in: no adapters."""


def is_peft_available():
    """It is not."""
    return False
