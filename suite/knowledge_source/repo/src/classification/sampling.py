"""Balanced sets for probes (Section 4.3). Every fold has random numbers of its own, which depend on nothing else.

A fold holds out one relation group as the test set. Folds are numbered from 0, in the order in which the groups first
appear among the labelled rows; each group has its number, also one that can't be tested. A fold draws the rows of its
training set first and then those of its test set, from one generator.
"""

import numpy as np
from numpy.typing import NDArray


def fold_generator(seed: int, fold: int) -> np.random.Generator:
    """The random numbers of a fold."""
    return np.random.default_rng([seed, fold])


def undersample(
    candidates: NDArray[np.int64], labels: NDArray[np.int64], generator: np.random.Generator
) -> NDArray[np.int64]:
    """As many of the candidates of each label as the rarer label has, in ascending order.

    candidates: places of rows, in ascending order. labels: those of all rows, 0 or 1. Without candidates of one label
    the result is empty, and nothing is drawn.
    """
    of_labels = [candidates[labels[candidates] == label] for label in (0, 1)]
    count = min(len(of_label) for of_label in of_labels)
    if not count:
        return candidates[:0]
    chosen = [generator.choice(of_label, count, replace=False) for of_label in of_labels]
    return np.sort(np.concatenate(chosen))
