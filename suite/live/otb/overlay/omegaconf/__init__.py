"""A stand-in for a type of configurations. Nothing here is configured by files."""


class DictConfig(dict):
    """A dictionary whose entries are attributes, too."""

    __getattr__ = dict.__getitem__
