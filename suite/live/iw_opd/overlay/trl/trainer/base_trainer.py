"""A stand-in for the training loop."""


class _BaseTrainer:
    """Has no loop of its own."""
