"""Strikes points that print alike in the order of the task, and draws from what is left."""

import numpy as np
from config import LARGEST, NOISE
from generators import TaskSpec, draw_points
from prompts import format_point
from sampling import draw_order


def generate_tasks(num_tasks, num_samples_per_task, num_dimensions, seed, data_type, factor, class_sep):
    if data_type not in NOISE:
        raise ValueError("data type")
    low, high = 0.0, LARGEST
    all_points = np.empty((num_tasks, num_samples_per_task, num_dimensions), dtype=np.float32)
    all_labels = np.empty((num_tasks, num_samples_per_task), dtype=np.int64)
    for index in range(num_tasks):
        own = seed + index
        spec = TaskSpec(data_type, num_samples_per_task, num_dimensions, own, factor, class_sep, NOISE[data_type])
        points, labels = draw_points(spec)
        bottom, spread = points.min(axis=0), np.ptp(points, axis=0)
        relative = np.where(spread > 0, (points - bottom) / np.where(spread > 0, spread, 1), 0.5)
        all_points[index], all_labels[index] = low + (high - low) * relative, labels
    return all_points, all_labels


def split_task(points, labels, num_context, num_queries, seed):
    names = np.unique(labels)
    each, remainder = divmod(num_context, len(names))
    if remainder or len(labels) < num_queries:
        raise ValueError("numbers")
    texts = [format_point(point) for point in points]
    order = draw_order(len(labels), seed)
    asked = {texts[query] for query in order[:num_queries]}
    kept = [point for point in order[num_queries:] if texts[point] not in asked and texts.index(texts[point]) == point]
    taken = [[point for point in kept if labels[point] == name][:each] for name in names]
    if any(len(points) < each for points in taken):
        raise ValueError("points")
    chosen = {point for points in taken for point in points}
    return np.array([point for point in kept if point in chosen], dtype=np.int64), order[:num_queries]
