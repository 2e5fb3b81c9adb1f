"""Stand-ins for names that the trainer imports. No model of transformers is used here."""


class AutoTokenizer:
    """Not used here."""


class TrainerCallback:
    """Not used here."""


def is_trackio_available():
    """Return whether trackio is installed."""
    return False


def is_wandb_available():
    """Return whether wandb is installed."""
    return False
