"""A stand-in for an error that is named and never raised here."""


class HFValidationError(ValueError):
    """The name of a repository is not valid."""
