"""A stand-in: nothing is downloaded in this workspace."""


def snapshot_download(*args, **kwargs):
    """Not done here."""
    raise NotImplementedError
