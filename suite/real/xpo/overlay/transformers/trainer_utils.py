"""A stand-in: a name that the trainer imports."""


class EvalPrediction:
    """A name for annotations."""
