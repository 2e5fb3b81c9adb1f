"""A stand-in: nothing is moved between devices here."""


class AlignDevicesHook:
    """The type of a hook that no module of this workspace has."""
