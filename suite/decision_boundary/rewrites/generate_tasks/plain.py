"""What the summary says, for valid arguments of `generate_tasks` and at least one task."""

import numpy as np
from config import LARGEST, NOISE
from generators import TaskSpec, draw_points
from prompts import format_point
from sampling import draw_order


def generate_tasks(num_tasks, num_samples_per_task, num_dimensions, seed, data_type, factor, class_sep):
    X, Y = [], []
    for i in range(num_tasks):
        noise = NOISE[data_type]
        spec = TaskSpec(data_type, num_samples_per_task, num_dimensions, seed + i, factor, class_sep, noise)
        points, labels = draw_points(spec)
        low, high = points.min(axis=0), points.max(axis=0)
        with np.errstate(invalid="ignore"):
            scaled = (points - low) / (high - low) * LARGEST
        X.append(np.where(high == low, LARGEST / 2, scaled))
        Y.append(labels)
    return np.array(X, dtype=np.float32), np.array(Y, dtype=np.int64)


def split_task(points, labels, num_context, num_queries, seed):
    classes = set(labels.tolist())
    if num_context % len(classes) or num_queries > len(points):
        raise ValueError("num_context or num_queries")
    needed = {label: num_context // len(classes) for label in classes}
    order = draw_order(len(points), seed)
    seen, examples = set(), []
    for place, index in enumerate(order):
        text = format_point(points[index])
        if place >= num_queries and text not in seen and needed[labels[index]]:
            examples.append(index)
            needed[labels[index]] -= 1
        seen.add(text)
    if any(needed.values()):
        raise ValueError("too few points")
    return np.array(examples, dtype=np.int64), order[:num_queries]
