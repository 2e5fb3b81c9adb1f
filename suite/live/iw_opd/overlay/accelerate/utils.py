"""Names that the trainer imports. Nothing calls them in one process."""

from enum import Enum


class DistributedType(Enum):
    """Kinds of runs with several processes."""

    NO = "NO"
    FSDP = "FSDP"
    DEEPSPEED = "DEEPSPEED"


def gather_object(items):
    """Return the items of all processes."""
    return items


def broadcast_object_list(items, from_process=0):
    """Return the items of one process."""
    return items


def set_seed(seed):
    """Not needed here."""
