"""Stand-ins: no outputs are captured here."""


class OutputRecorder:
    """Not used here."""

    def __init__(self, *args, **kwargs):
        """Take whatever the model gives."""


def capture_outputs(function):
    """Return the function as it is."""
    return function
