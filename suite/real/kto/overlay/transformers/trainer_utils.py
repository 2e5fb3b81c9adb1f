"""A stand-in: names that the trainer imports."""


class EvalLoopOutput:
    """A name for annotations."""


def has_length(dataset):
    """Whether it can say how many items it has."""
    return hasattr(dataset, "__len__")
