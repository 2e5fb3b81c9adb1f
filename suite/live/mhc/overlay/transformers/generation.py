"""Stand-in: nothing is generated here."""


class GenerationMixin:
    """Not used here."""
