"""A stand-in for the one name that nlpaug takes from pandas."""


class DataFrame:
    """A type that no text of this workspace has."""
