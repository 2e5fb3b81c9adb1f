"""A stand-in for the package of this name, which has only a list of words."""
