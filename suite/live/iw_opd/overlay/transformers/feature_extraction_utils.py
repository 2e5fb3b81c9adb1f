"""A stand-in for a type in annotations."""


class FeatureExtractionMixin:
    """Not used here."""
