"""Stand-ins: which optional packages there are."""


def is_peft_available():
    """Return whether peft is installed."""
    return False


def is_rich_available():
    """Return whether rich is installed."""
    return False
