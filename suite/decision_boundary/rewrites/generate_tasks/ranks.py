"""One draw a task in a helper; the division by running counts of candidates of each class."""

import numpy as np
from config import DATA_TYPES, LARGEST, NOISE
from generators import TaskSpec, draw_points
from prompts import format_point
from sampling import draw_order


def _one_task(spec):
    points, labels = draw_points(spec)
    bottom = points.min(axis=0)
    spread = np.ptp(points, axis=0)
    low, high = 0.0, LARGEST
    scaled = np.divide(points - bottom, spread, out=np.full_like(points, 0.5), where=spread != 0)
    return (scaled * (high - low) + low).astype(np.float32), labels


def generate_tasks(num_tasks, num_samples_per_task, num_dimensions, seed, data_type, factor, class_sep):
    if data_type not in DATA_TYPES:
        raise ValueError("data type")
    all_points = np.empty((num_tasks, num_samples_per_task, num_dimensions), np.float32)
    all_labels = np.empty((num_tasks, num_samples_per_task), np.int64)
    for place, own_seed in enumerate(range(seed, seed + num_tasks)):
        all_points[place], all_labels[place] = _one_task(
            TaskSpec(
                data_type, num_samples_per_task, num_dimensions, own_seed, factor, class_sep, noise=NOISE[data_type]
            )
        )
    return all_points, all_labels


def split_task(points, labels, num_context, num_queries, seed):
    classes, indices = np.unique(np.asarray(labels), return_inverse=True)
    if num_queries > len(labels) or num_context % len(classes):
        raise ValueError("numbers")
    order = np.asarray(draw_order(len(labels), seed), dtype=np.int64)
    texts = [format_point(points[point]) for point in order]
    candidate = [place >= num_queries and text not in texts[:place] for place, text in enumerate(texts)]
    member = np.zeros((len(labels), len(classes)), dtype=np.int64)
    member[np.arange(len(labels)), indices[order]] = candidate
    counts = member.cumsum(axis=0)
    each = num_context // len(classes)
    if (counts[-1] < each).any():
        raise ValueError("points")
    chosen = ((counts <= each) * member).any(axis=1)
    return order[chosen], order[:num_queries]
