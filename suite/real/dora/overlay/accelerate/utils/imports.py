"""A stand-in: there is one CPU, and no accelerator."""


def is_xpu_available():
    """Whether there is an XPU."""
    return False
