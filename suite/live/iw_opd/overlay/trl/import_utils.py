"""A stand-in: which optional packages there are."""


def is_vllm_available():
    """Return whether vllm is installed."""
    return False
