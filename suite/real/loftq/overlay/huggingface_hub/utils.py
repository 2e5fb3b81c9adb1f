"""A stand-in for an error that is named and never raised here."""


class LocalEntryNotFoundError(FileNotFoundError):
    """A file is not on the disk."""
