"""Inverse document frequency over a corpus of tokenized texts, with plus-one smoothing."""

import math
from collections import Counter
from collections.abc import Sequence


class IdfWeights:
    """Weights of tokens, at least 0: one that every text holds weighs nothing, one that no text holds the most."""

    def __init__(self, texts: Sequence[Sequence[str]]) -> None:
        self._texts = len(texts)
        self._counts = Counter(token for tokens in texts for token in set(tokens))

    def __call__(self, token: str) -> float:
        """The weight of one token."""
        return math.log((self._texts + 1) / (self._counts[token] + 1))
