"""More examples where the model is least certain (Section 4.3), against as many at random places."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from boundary import Boundary, draw_boundary
from config import LARGEST
from metrics import entropy
from models import Model, logistic
from sampling import draw_order

# No two new examples of a round lie nearer to each other than this share of the range.
_LEAST_DISTANCE = 0.1
Choose = Callable[[Boundary, int, int], NDArray[np.int64]]


def most_uncertain(boundary: Boundary, count: int, seed: int) -> NDArray[np.int64]:
    """Places on the grid, by falling entropy, each at a distance from those before it. The seed is not needed."""
    distance = _LEAST_DISTANCE * LARGEST
    chosen: list[int] = []
    for place in np.argsort(-entropy(boundary.logits), kind="stable").tolist():
        gaps = np.linalg.norm(boundary.points[chosen] - boundary.points[place], axis=1)
        if (gaps >= distance).all():
            chosen.append(place)
        if len(chosen) == count:
            break
    return np.array(chosen)


def at_random(boundary: Boundary, count: int, seed: int) -> NDArray[np.int64]:
    return draw_order(len(boundary.points), seed)[:count]


def label_by(points: NDArray, labels: NDArray[np.int64]) -> Callable[[NDArray], NDArray[np.int64]]:
    """What stands in for a person who labels: logistic regression on all points of the task."""

    def label(new: NDArray) -> NDArray[np.int64]:
        return (logistic(_shares(points), labels, _shares(new), penalty=1e-3) > 0.5).astype(np.int64)

    return label


def extend(
    model: Model,
    context: tuple[NDArray, NDArray],
    label: Callable[[NDArray], NDArray[np.int64]],
    choose: Choose,
    sizes: tuple[int, int, int],
    seed: int,
) -> tuple[NDArray, NDArray]:
    """The context after some rounds. sizes: grid, examples a round, rounds."""
    grid, step, rounds = sizes
    points, labels = context
    for turn in range(rounds):
        boundary = draw_boundary(model, (points, labels), grid)
        new = boundary.points[choose(boundary, step, seed + turn)]
        points = np.concatenate([points, new])
        labels = np.concatenate([labels, label(new)])
    return points, labels


def _shares(points: NDArray) -> NDArray[np.float64]:
    """Each coordinate's place in the range, from 0 to 1."""
    return np.asarray(points, dtype=float) / LARGEST
