"""What is installed: bitsandbytes by name, and none of its 4-bit layers."""


def is_bnb_available():
    """Whether bitsandbytes can be imported."""
    return True


def is_bnb_4bit_available():
    """Whether it has layers of 4 bits."""
    return False
