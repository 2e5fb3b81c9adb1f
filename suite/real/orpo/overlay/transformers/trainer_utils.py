"""A stand-in: names that the trainer imports."""


class EvalLoopOutput:
    """A name for annotations."""
