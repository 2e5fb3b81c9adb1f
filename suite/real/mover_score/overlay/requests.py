"""A stub: nothing is downloaded."""


def get(address, **_):
    raise OSError(address)
