"""Classical learners (Appendix E), each asked as a language model is: by a context and questions."""

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from config import LARGEST
from prompts import read_context, read_questions

_NEIGHBOURS = 5
_DEPTH = 3
_GAMMA = 2.0
_STEPS = 12
_LEAST_SHARE = 1e-6
Points = NDArray[np.float64]


class Model(Protocol):
    """Whatever answers questions about a context."""

    def logits(self, context: str, questions: Sequence[str]) -> NDArray[np.float64]:
        """A row for each question, a column for each name in the context."""
        ...


class Classical:
    """A learner that is fitted to the examples of each context anew. kind: one of LEARNERS."""

    def __init__(self, kind: str) -> None:
        self.learn = LEARNERS[kind]

    def logits(self, context: str, questions: Sequence[str]) -> NDArray[np.float64]:
        points, labels, _ = read_context(context)
        shares = self.learn(_centred(points), np.array(labels), _centred(read_questions(questions)))
        second = np.clip(shares, _LEAST_SHARE, 1 - _LEAST_SHARE)
        return np.log(np.stack([1 - second, second], axis=1))


def logistic(points: Points, labels: NDArray[np.int64], asked: Points, penalty: float = 0.1) -> Points:
    """Logistic regression with an L2 penalty, by Newton's method."""
    inputs = np.pad(points, ((0, 0), (0, 1)), constant_values=1.0)
    weights = np.zeros(inputs.shape[1])
    for _ in range(_STEPS):
        shares = _sigmoid(inputs @ weights)
        curvature = inputs.T @ (inputs * (shares * (1 - shares))[:, np.newaxis]) + penalty * np.eye(len(weights))
        weights -= np.linalg.solve(curvature, inputs.T @ (shares - labels) + penalty * weights)
    return _sigmoid(np.pad(asked, ((0, 0), (0, 1)), constant_values=1.0) @ weights)


def nearest(points: Points, labels: NDArray[np.int64], asked: Points) -> Points:
    """The share of the last class among the nearest examples."""
    return labels[np.argsort(_squares(asked, points), axis=1, kind="stable")[:, :_NEIGHBOURS]].mean(axis=1)


def radial(points: Points, labels: NDArray[np.int64], asked: Points) -> Points:
    """A least-squares machine with a radial basis function kernel, in place of the paper's support vectors."""
    kernel = np.exp(-_GAMMA * _squares(points, points)) + 0.1 * np.eye(len(points))
    duals = np.linalg.solve(kernel, 2.0 * labels - 1)
    return _sigmoid(4 * np.exp(-_GAMMA * _squares(asked, points)) @ duals)


def tree(points: Points, labels: NDArray[np.int64], asked: Points, depth: int = _DEPTH) -> Points:
    """A decision tree that splits where the classes' Gini impurity falls most."""
    if depth == 0 or labels.min() == labels.max():
        return np.full(len(asked), labels.mean())

    def impurity(split: tuple[int, float]) -> float:
        below = points[:, split[0]] < split[1]
        return sum(side.sum() * labels[side].var() for side in (below, ~below))

    columns = [(axis, np.unique(points[:, axis])) for axis in range(points.shape[1])]
    splits = [(axis, middle) for axis, values in columns for middle in ((values[1:] + values[:-1]) / 2).tolist()]
    if not splits:
        return np.full(len(asked), labels.mean())
    axis, middle = min(splits, key=impurity)
    result = np.empty(len(asked))
    for side, there in (
        (points[:, axis] < middle, asked[:, axis] < middle),
        (points[:, axis] >= middle, asked[:, axis] >= middle),
    ):
        result[there] = tree(points[side], labels[side], asked[there], depth - 1)
    return result


LEARNERS: dict[str, Callable[[Points, NDArray[np.int64], Points], Points]] = {
    "logistic": logistic,
    "k-nn": nearest,
    "tree": tree,
    "rbf": radial,
}


def _sigmoid(values: Points) -> Points:
    return 0.5 * (1 + np.tanh(0.5 * values))


def _squares(one: Points, other: Points) -> Points:
    return ((one[:, np.newaxis] - other) ** 2).sum(axis=-1)


def _centred(points: Sequence[Sequence[int]]) -> Points:
    """Numbers from -1 to 1."""
    return 2 * np.asarray(points, dtype=float) / LARGEST - 1
