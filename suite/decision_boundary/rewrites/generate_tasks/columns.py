"""Column by column in plain Python; candidates by class in lists, merged by their places in the draw."""

import numpy as np
from config import DATA_TYPES, LARGEST, NOISE
from generators import TaskSpec, draw_points
from prompts import format_point
from sampling import draw_order


def _column(values):
    least, most = min(values), max(values)
    low, high = 0.0, LARGEST
    if least == most:
        return [low / 2 + high / 2] * len(values)
    return [low + (value - least) / (most - least) * (high - low) for value in values]


def generate_tasks(num_tasks, num_samples_per_task, num_dimensions, seed, data_type, factor, class_sep):
    if data_type not in DATA_TYPES:
        raise ValueError(data_type)
    points, labels = [], []
    for own_seed in range(seed, seed + num_tasks):
        spec = TaskSpec(
            data_type=data_type,
            num_samples=num_samples_per_task,
            num_dimensions=num_dimensions,
            seed=own_seed,
            factor=factor,
            class_sep=class_sep,
            noise=NOISE[data_type],
        )
        drawn, named = draw_points(spec)
        points.append(list(zip(*(_column(column) for column in drawn.T.tolist()))))
        labels.append(named.tolist())
    shape = (num_tasks, num_samples_per_task)
    all_points = np.array(points, dtype=float).reshape(*shape, num_dimensions).astype(np.float32)
    return all_points, np.array(labels, dtype=np.int64).reshape(shape)


def split_task(points, labels, num_context, num_queries, seed):
    drawn = [int(point) for point in draw_order(len(labels), seed)]
    if num_queries > len(drawn):
        raise ValueError("too many queries")
    first = {}
    for place, point in enumerate(drawn):
        first.setdefault(format_point(points[point]), place)
    candidates = {int(label): [] for label in labels}
    for place in sorted(first.values()):
        if place >= num_queries:
            candidates[int(labels[drawn[place]])].append(place)
    if num_context % len(candidates):
        raise ValueError("not equal")
    each = num_context // len(candidates)
    if min(map(len, candidates.values())) < each:
        raise ValueError("too few")
    places = sorted(place for among in candidates.values() for place in among[:each])
    return np.array([drawn[place] for place in places], dtype=np.int64), np.array(drawn[:num_queries], dtype=np.int64)
