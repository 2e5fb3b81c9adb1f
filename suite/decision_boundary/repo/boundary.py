"""The decision boundary of a model (Section 3.2): its predictions on a grid over the in-context examples."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from config import CLASS_NAMES
from models import Model
from prompts import build_context, build_question


@dataclass(frozen=True)
class Boundary:
    """points: (grid * grid, 2). logits: (grid * grid, classes)."""

    points: NDArray[np.float64]
    logits: NDArray[np.float64]
    grid: int

    @property
    def labels(self) -> NDArray[np.int64]:
        """Predicted classes (grid, grid), the first dimension in rows."""
        return self.logits.argmax(axis=1).reshape(self.grid, self.grid)


def make_grid(points: NDArray, size: int) -> NDArray[np.float64]:
    """Evenly spaced points from the least to the greatest value of the examples in both dimensions."""
    axes = [np.linspace(column.min(), column.max(), size) for column in points.T]
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(axes))


def ask(
    model: Model, context: tuple[NDArray, NDArray], points: NDArray, names: Sequence[str] = CLASS_NAMES
) -> NDArray[np.float64]:
    """Logits for each point. context: points and labels of the examples, in the order of the prompt."""
    return model.logits(build_context(*context, names), [build_question(point) for point in points])


def draw_boundary(model: Model, context: tuple[NDArray, NDArray], grid: int) -> Boundary:
    points = make_grid(context[0], grid)
    return Boundary(points, ask(model, context, points), grid)
