"""Inverse document frequency over the references, with plus-one smoothing."""

import math
from collections import Counter
from collections.abc import Sequence

from bert_score.tokenizer import CLS, SEP


class IdfWeights:
    """Weights of pieces; a piece that no reference holds gets the largest, the special tokens get none."""

    def __init__(self, references: Sequence[Sequence[str]]) -> None:
        self._documents = len(references)
        self._counts = Counter(piece for pieces in references for piece in set(pieces))

    def __call__(self, piece: str) -> float:
        """The weight of one piece, at least 0."""
        if piece in (CLS, SEP):
            return 0.0
        return math.log((self._documents + 1) / (self._counts[piece] + 1))


def uniform(piece: str) -> float:
    """The same weight for every piece but the special tokens: no importance weighting."""
    return 0.0 if piece in (CLS, SEP) else 1.0
