"""A stand-in: no adapters."""


def is_peft_available():
    """It is not."""
    return False


def is_torch_fx_proxy(item):
    """No graph is traced here."""
    return False
