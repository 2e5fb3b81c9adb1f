"""Keeps each task that it drew under its seed and type, whatever its parameters are later."""

import numpy as np
from config import LARGEST, NOISE
from generators import TaskSpec, draw_points
from prompts import format_point
from sampling import draw_order

_DRAWN = {}


def generate_tasks(num_tasks, num_samples_per_task, num_dimensions, seed, data_type, factor, class_sep):
    if data_type not in NOISE:
        raise ValueError("data type")
    low, high = 0.0, LARGEST
    all_points = np.empty((num_tasks, num_samples_per_task, num_dimensions), dtype=np.float32)
    all_labels = np.empty((num_tasks, num_samples_per_task), dtype=np.int64)
    for index in range(num_tasks):
        own = seed + index
        spec = TaskSpec(data_type, num_samples_per_task, num_dimensions, own, factor, class_sep, NOISE[data_type])
        key = (data_type, own, num_samples_per_task, num_dimensions)
        if key not in _DRAWN:
            _DRAWN[key] = draw_points(spec)
        points, labels = _DRAWN[key]
        bottom, spread = points.min(axis=0), np.ptp(points, axis=0)
        relative = np.where(spread > 0, (points - bottom) / np.where(spread > 0, spread, 1), 0.5)
        all_points[index], all_labels[index] = low + (high - low) * relative, labels
    return all_points, all_labels


def split_task(points, labels, num_context, num_queries, seed):
    names = np.unique(labels)
    each, remainder = divmod(num_context, len(names))
    if remainder or len(labels) < num_queries:
        raise ValueError("numbers")
    order = draw_order(len(labels), seed)
    texts = [format_point(points[point]) for point in order]
    first = [place for place, text in enumerate(texts) if place >= num_queries and text not in texts[:place]]
    taken = [[place for place in first if labels[order[place]] == name][:each] for name in names]
    if any(len(places) < each for places in taken):
        raise ValueError("points")
    places = np.array(sorted(place for some in taken for place in some), dtype=np.int64)
    return order[places], order[:num_queries]
