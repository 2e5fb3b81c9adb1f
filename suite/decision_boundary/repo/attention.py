"""A stand-in for a language model: one attention layer over number tokens, which copies labels of similar examples.

A language model sees digits, not quantities: for it "39" and "40" share nothing, though they are neighbours. The
embedding of a number therefore has two parts, the identity of its digits and its value. `numeric` is the share of the
value. Examples that stand near the end of the prompt draw more attention.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from prompts import read_context, read_questions

_PLACES = 3
_LEXICAL_SIZE = 12
_VALUE_SCALE = 8.0
_LEAST_SHARE = 1e-4


@dataclass(frozen=True)
class Weights:
    """All that finetuning may change.

    numeric (embedding layer): share of a number's value in its embedding, from 0 to 1.
    sharpness (attention layer): what squared distances are multiplied by.
    recency (attention layer): how much attention fades from one example to the one before it.
    scale, bias (head): logits are multiplied by the one, and then the other is added to those of the last class.
    """

    numeric: float = 0.15
    sharpness: float = 2.0
    recency: float = 0.03
    scale: float = 1.0
    bias: float = 0.05


class TokenAttention:
    """seed: draws the embeddings of digits, as training would have left them."""

    def __init__(self, weights: Weights, seed: int) -> None:
        self.weights, self.seed = weights, seed
        table = np.random.default_rng(seed).normal(size=(_PLACES, 10, _LEXICAL_SIZE)) / np.sqrt(_LEXICAL_SIZE)
        # The first digits of a number say more about it than its last one.
        self.table = table * np.array([1.0, 1.0, 0.4])[:, np.newaxis, np.newaxis]

    def logits(self, context: str, questions: Sequence[str]) -> NDArray[np.float64]:
        points, labels, names = read_context(context)
        ages = np.arange(len(points))[::-1]
        scores = self._scores(read_questions(questions), points) - self.weights.recency * ages
        return self._head(scores, np.eye(len(names))[labels])

    def log_likelihood(self, points: Sequence[Sequence[int]], labels: Sequence[int], start: int) -> float:
        """Mean log-probability of the labels from place `start` on, each given all examples before it (Equation 2)."""
        places = np.arange(len(points))
        ages = places[:, np.newaxis] - places - 1
        scores = self._scores(points, points) - self.weights.recency * ages
        scores[ages < 0] = -np.inf
        logits = self._head(scores[start:], np.eye(max(labels) + 1)[labels])
        logits -= np.logaddexp.reduce(logits, axis=1, keepdims=True)
        return float(logits[np.arange(len(logits)), labels[start:]].mean())

    def _scores(self, asked: Sequence[Sequence[int]], examples: Sequence[Sequence[int]]) -> NDArray[np.float64]:
        one, other = self._embed(asked), self._embed(examples)
        squares = (one**2).sum(axis=1)[:, np.newaxis] + (other**2).sum(axis=1) - 2 * one @ other.T
        return -self.weights.sharpness * squares

    def _head(self, scores: NDArray[np.float64], votes: NDArray[np.float64]) -> NDArray[np.float64]:
        attention = np.exp(scores - scores.max(axis=1, keepdims=True))
        shares = attention @ votes / attention.sum(axis=1, keepdims=True)
        logits = self.weights.scale * np.log(shares + _LEAST_SHARE)
        logits[:, -1] += self.weights.bias
        return logits

    def _embed(self, points: Sequence[Sequence[int]]) -> NDArray[np.float64]:
        """The embeddings of the numbers of a point, one behind the other."""
        numbers = np.asarray(points)
        digits = numbers[..., np.newaxis] // 10 ** np.arange(_PLACES)[::-1] % 10
        lexical = np.sqrt(1 - self.weights.numeric) * self.table[np.arange(_PLACES), digits]
        values = np.sqrt(self.weights.numeric) * _VALUE_SCALE * numbers / 100
        return np.concatenate([lexical.reshape(len(numbers), -1), values], axis=1)
