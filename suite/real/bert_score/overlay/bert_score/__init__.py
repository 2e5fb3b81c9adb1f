"""A stub: the published package also exports its functions here."""

__version__ = "0.3.13"
