"""A stub: the published package has BLEU and chrF beside it."""

from .ter import TER, TERScore

__all__ = ["TER", "TERScore"]
