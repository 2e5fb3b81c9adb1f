"""A stand-in: no module is offloaded here."""


class AlignDevicesHook:
    """Moves inputs to the device of a module, elsewhere."""
