"""Scaling by interpolation; the division by a pool that shrinks, from which points that print alike are struck."""

import numpy as np
from config import LARGEST, NOISE
from generators import TaskSpec, draw_points
from prompts import format_point
from sampling import draw_order


def generate_tasks(num_tasks, num_samples_per_task, num_dimensions, seed, data_type, factor, class_sep):
    try:
        noise = NOISE[data_type]
    except KeyError as error:
        raise ValueError(f"no such data type: {data_type}") from error
    all_points = np.zeros((num_tasks, num_samples_per_task, num_dimensions), dtype=np.float32)
    all_labels = np.zeros((num_tasks, num_samples_per_task), dtype=np.int64)
    for task in range(num_tasks):
        points, all_labels[task] = draw_points(
            TaskSpec(
                data_type,
                num_samples_per_task,
                num_dimensions,
                seed + task,
                factor,
                class_sep,
                noise,
            )
        )
        for axis in range(num_dimensions):
            column = points[:, axis]
            ends = [column.min(), column.max()]
            all_points[task, :, axis] = np.interp(column, ends, [0.0, LARGEST]) if np.ptp(column) else LARGEST / 2
    return all_points, all_labels


def split_task(points, labels, num_context, num_queries, seed):
    labels = labels.tolist()
    classes = set(labels)
    if num_queries > len(labels) or num_context / len(classes) != num_context // len(classes):
        raise ValueError("can't be divided")
    order = draw_order(len(labels), seed)
    queries = order[:num_queries].copy()
    known = {format_point(points[query]) for query in queries}
    pool = []
    for point in order[num_queries:].tolist():
        text = format_point(points[point])
        if text not in known:
            known.add(text)
            pool.append(point)
    taken = {label: [point for point in pool if labels[point] == label] for label in classes}
    each = num_context // len(classes)
    if any(len(points) < each for points in taken.values()):
        raise ValueError("a class lacks points")
    chosen = {point for points in taken.values() for point in points[:each]}
    return np.array([point for point in pool if point in chosen], dtype=np.int64), queries
