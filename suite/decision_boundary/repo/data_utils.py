"""Tasks as arrays: many tasks of one kind at once, and the division of a task into examples and queries."""

import numpy as np
from numpy.typing import NDArray

from config import LARGEST, NOISE
from generators import TaskSpec, draw_points
from prompts import format_point
from sampling import draw_order


def generate_tasks(
    num_tasks: int,
    num_samples_per_task: int,
    num_dimensions: int,
    seed: int,
    data_type: str,
    factor: float,
    class_sep: float,
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Points X (num_tasks, num_samples_per_task, num_dimensions) and labels Y (num_tasks, num_samples_per_task).

    All tasks have the same parameters and differ by their seeds. Raises ValueError for what can't be drawn.
    """
    if data_type not in NOISE:
        raise ValueError(f"data type {data_type!r}")
    all_points, all_labels = [], []
    for index in range(num_tasks):
        noise = NOISE[data_type]
        spec = TaskSpec(data_type, num_samples_per_task, num_dimensions, seed + index, factor, class_sep, noise)
        points, labels = draw_points(spec)
        above = points - points.min(axis=0)
        spread = above.max(axis=0)
        all_points.append(LARGEST * np.divide(above, spread, out=np.full_like(above, 0.5), where=spread > 0))
        all_labels.append(labels)
    shape = (num_tasks, num_samples_per_task)
    return (
        np.array(all_points, dtype=np.float32).reshape(*shape, num_dimensions),
        np.array(all_labels, dtype=np.int64).reshape(shape),
    )


def split_task(
    points: NDArray[np.floating],
    labels: NDArray[np.int64],
    num_context: int,
    num_queries: int,
    seed: int,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Which points of one task are in-context examples, in the order of the prompt, and which are queries.

    points: (n, d). labels: (n,). num_context: the number of examples of all classes together. Raises ValueError if it
    can't be divided equally among the classes, or if the task does not have enough points.
    """
    names = labels.tolist()
    share, remainder = divmod(num_context, len(set(names)))
    if remainder or num_queries > len(names):
        raise ValueError(f"{num_context}, {num_queries}")
    order = draw_order(len(names), seed)
    missing = dict.fromkeys(names, share)
    context, printed = [], set()
    for place, point in enumerate(order.tolist()):
        text, name = format_point(points[point]), names[point]
        if place >= num_queries and text not in printed and missing[name]:
            context.append(point)
            missing[name] -= 1
        printed.add(text)
    if any(missing.values()):
        raise ValueError(f"{missing}")
    return np.array(context, dtype=np.int64), order[:num_queries]
