"""A stand-in: no kernels."""


def is_liger_kernel_available():
    """They are not."""
    return False
