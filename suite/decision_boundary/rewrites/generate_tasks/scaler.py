"""All tasks drawn first and scaled at once; the division by sets of places that remain."""

import numpy as np
from config import LARGEST, NOISE
from generators import TaskSpec, draw_points
from prompts import format_point
from sampling import draw_order


def generate_tasks(num_tasks, num_samples_per_task, num_dimensions, seed, data_type, factor, class_sep):
    shape = (num_tasks, num_samples_per_task)
    if num_tasks == 0:
        return np.zeros((*shape, num_dimensions), dtype=np.float32), np.zeros(shape, dtype=np.int64)
    noise = NOISE.get(data_type, 0.0)
    seeds = range(seed, seed + num_tasks)
    drawn = [
        draw_points(TaskSpec(data_type, num_samples_per_task, num_dimensions, own, factor, class_sep, noise))
        for own in seeds
    ]
    points = np.stack([task for task, _ in drawn])
    least, most = points.min(axis=1, keepdims=True), points.max(axis=1, keepdims=True)
    flat = np.broadcast_to(least == most, points.shape)
    low, high = 0.0, LARGEST
    with np.errstate(divide="ignore", invalid="ignore"):
        scaled = (points - least) * (high - low) / (most - least) + low
    scaled[flat] = (low + high) / 2
    return scaled.astype(np.float32), np.stack([labels for _, labels in drawn]).astype(np.int64)


def split_task(points, labels, num_context, num_queries, seed):
    names = np.unique(labels)
    if num_context % len(names) or len(labels) < num_queries:
        raise ValueError("numbers")
    order = draw_order(len(labels), seed)
    texts = np.array([format_point(points[point]) for point in order])
    first = np.zeros(len(labels), dtype=bool)
    first[np.unique(texts, return_index=True)[1]] = True
    first[:num_queries] = False
    each = num_context // len(names)
    chosen = np.zeros(len(labels), dtype=bool)
    for name in names:
        places = np.flatnonzero(first & (labels[order] == name))[:each]
        if len(places) < each:
            raise ValueError("points")
        chosen[places] = True
    return order[chosen].astype(np.int64), order[:num_queries].astype(np.int64)
