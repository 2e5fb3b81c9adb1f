"""What is measured of a model: accuracy and smoothness by context, and its sense of the examples' order."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from boundary import ask, draw_boundary
from config import DATA_TYPES, TESTING, TRAINING, Study
from data_utils import generate_tasks, split_task
from metrics import Log, accuracy, fragments, roughness
from models import Model
from sampling import draw_order, draw_parameters


@dataclass(frozen=True)
class Task:
    """One task and its name; seed: that of its division into examples and queries."""

    name: str
    points: NDArray[np.float32]
    labels: NDArray[np.int64]
    seed: int

    def divide(self, size: int, queries: int) -> tuple[tuple[NDArray, NDArray], tuple[NDArray, NDArray]]:
        """Points and labels of `size` examples, and those of the queries."""
        chosen, held_out = split_task(self.points, self.labels, size, queries, self.seed)
        return (self.points[chosen], self.labels[chosen]), (self.points[held_out], self.labels[held_out])


def testing_tasks(study: Study, seed: int) -> Iterator[Task]:
    """Tasks of all types, with parameters that no training task has."""
    for data_type, (factor, class_sep) in zip(DATA_TYPES, draw_parameters(TESTING, 3, seed), strict=True):
        points, labels = generate_tasks(study.tasks, study.samples, 2, seed, data_type, factor, class_sep)
        for index in range(study.tasks):
            yield Task(data_type, points[index], labels[index], seed + index)


def training_tasks(study: Study, seed: int) -> list[tuple[NDArray, NDArray]]:
    """As many tasks of each type."""
    tasks = []
    for data_type, (factor, class_sep) in zip(DATA_TYPES, draw_parameters(TRAINING, 3, seed), strict=True):
        drawn = generate_tasks(
            study.training_tasks, study.training_points, 2, seed + 10_000, data_type, factor, class_sep
        )
        tasks += zip(*drawn, strict=True)
    return tasks


def measure(log: Log, name: str, model: Model, task: Task, size: int, study: Study) -> None:
    """Accuracy on the queries, roughness and fragments of the boundary."""
    context, (asked, wanted) = task.divide(size, study.queries)
    boundary = draw_boundary(model, context, study.grid)
    log.add(f"{name}: accuracy", accuracy(ask(model, context, asked), wanted))
    log.add(f"{name}: roughness", roughness(boundary))
    log.add(f"{name}: fragments", fragments(boundary))


def order_sensitivity(model: Model, task: Task, size: int, study: Study) -> float:
    """Share of the grid on which the same examples in another order are predicted otherwise."""
    (points, labels), _ = task.divide(size, study.queries)
    first = draw_boundary(model, (points, labels), study.grid).labels
    changes = []
    for seed in range(study.orders):
        order = draw_order(len(points), seed)
        changes.append((draw_boundary(model, (points[order], labels[order]), study.grid).labels != first).mean())
    return float(np.mean(changes))
