"""Figures of a boundary: how rough it is, and how often predictions are right; and a log of them."""

from collections import defaultdict

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import label as connected

from boundary import Boundary


def roughness(boundary: Boundary) -> float:
    """Share of neighbouring cells of the grid that are predicted unlike."""
    labels = boundary.labels
    unlike = [labels[1:] != labels[:-1], labels[:, 1:] != labels[:, :-1]]
    return float(np.concatenate([pairs.ravel() for pairs in unlike]).mean())


def fragments(boundary: Boundary) -> int:
    """Number of connected regions of one class each; two for a smooth boundary between two classes."""
    labels = boundary.labels
    return sum(connected(labels == value)[1] for value in np.unique(labels))


def accuracy(logits: NDArray[np.float64], labels: NDArray[np.int64]) -> float:
    return float((logits.argmax(axis=1) == labels).mean())


def entropy(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    """Uncertainty of each row, in nats, after a softmax."""
    logs = logits - np.logaddexp.reduce(logits, axis=1, keepdims=True)
    return -(np.exp(logs) * logs).sum(axis=1)


class Log:
    """Values under names; the mean of each is reported."""

    def __init__(self) -> None:
        self.values: dict[str, list[float]] = defaultdict(list)

    def add(self, name: str, value: float) -> None:
        self.values[name].append(value)

    def means(self) -> dict[str, float]:
        return {name: float(np.mean(values)) for name, values in self.values.items()}
