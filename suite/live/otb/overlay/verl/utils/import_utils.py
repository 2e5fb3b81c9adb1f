"""A stand-in for the mark of functions that should no longer be used."""


def deprecated(replacement=""):
    """A decorator that changes nothing."""
    return lambda function: function
