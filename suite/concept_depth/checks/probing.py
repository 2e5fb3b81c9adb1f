"""probing: probes whose test rows have known scores, for layers, batches and labels of all kinds; the experiment."""

from copy import deepcopy
from itertools import product

import numpy as np
from scipy.special import expit

PENALTY = 4.0
# How far apart the scores of test rows are at the minimum, and how far from 0.
STEP = 0.02


def cases(seed):
    generator = np.random.default_rng(seed)

    def integer(low, high):
        return int(generator.integers(low, high + 1))

    def with_scores(values, labels, low):
        """The rows of a layer with those of the test put where the probe's score is known, and below 0 if it is low."""
        train, test = split(len(labels))
        wide = values.astype(np.float64)
        mean, deviation = wide[train].mean(axis=0), wide[train].std(axis=0)
        deviation[deviation == 0] = 1.0
        units = (wide - mean) / deviation
        theta = fitted(units[train], labels[train])
        scores = scores_of(labels[test])
        missing = scores - low * (scores.max() + STEP) - units[test] @ theta[:-1] - theta[-1]
        units[test] += np.outer(missing, theta[:-1]) / (theta[:-1] @ theta[:-1])
        rows = values.copy()
        rows[test] = units[test] * deviation + mean
        return rows

    def scores_of(labels):
        """Scores on both sides of 0 that have something to do with the labels. A label of 1 has the highest."""
        count = len(labels)
        steps = np.arange(count) - int(count * generator.uniform(0.3, 0.7)) + 0.5
        keys = labels + generator.normal(size=count)
        keys[np.flatnonzero(labels)[:1]] = 10.0
        scores = np.empty(count)
        scores[np.argsort(keys)] = STEP * steps + generator.uniform(-STEP / 5, STEP / 5, count)
        return scores

    def layer(labels, width, dtype, strength=1.0, shared=0.0, low=False):
        """Rows of a layer whose columns depend on the labels and on each other, on scales of their own."""
        count = len(labels)
        values = generator.normal(size=(count, width)) @ (np.eye(width) + 0.4 * generator.normal(size=(width, width)))
        values += np.outer(2 * labels - 1, strength * generator.normal(size=width) / np.sqrt(width))
        values += shared * generator.normal(size=(count, 1))
        scale = 10.0 ** generator.uniform(-2, 2, width)
        return with_scores((scale * (values + generator.normal(size=width))).astype(dtype), labels, low)

    def labels_of(sizes, mixed):
        """The labels of both sides, of which a share is on the wrong one. Either part has both."""
        while True:
            pairs = zip(sizes, mixed, (1, 0), strict=True)
            labels = [np.where(generator.random(size) < share, 1 - side, side) for size, share, side in pairs]
            if all(len(set(np.concatenate(labels)[part].tolist())) == 2 for part in split(sum(sizes))):
                return labels

    def case(name, labels, width, layers=1, probed=None, cuts=((), ()), dtype=np.float64, **options):
        """Embeddings and layers of both sides, in batches."""
        flat = np.concatenate(labels)
        rows = [generator.normal(size=(len(flat), width)).astype(dtype)]
        rows += [layer(flat, width, dtype, **options) for _ in range(layers)]
        sides = np.split(np.stack(rows, axis=1), [len(labels[0])])
        features = [[part.copy() for part in np.split(side, cut)] for side, cut in zip(sides, cuts, strict=True)]
        return {"name": name, "features": features, "labels": labels, "n_layers": layers if probed is None else probed}

    def cuts_of(kind, sizes):
        """Where the sides are cut into batches."""
        if kind == "one batch":
            return (), ()
        if kind == "even batches":
            batch = integer(7, 16)
            return tuple(np.arange(batch, size, batch) for size in sizes)
        return tuple(np.sort(generator.choice(np.arange(1, size), integer(1, 5), False)) for size in sizes)

    balances = {"as many on both sides": (40, 40), "few positives": (15, 70), "few negatives": (70, 15)}
    mistakes = {"labels as the sides": (0.0, 0.0), "annotators disagree": (0.25, 0.1), "labels against": (0.9, 0.8)}
    layers = {"one layer": (1, 1), "all layers": (3, 3), "the first layers": (5, 2)}
    batches = ("one batch", "even batches", "unlike batches")
    # Each pair of values of two parameters, in either precision.
    for dtype, one, two in product((np.float64, np.float32), range(3), range(3)):
        three, four = (one + two) % 3, (one + 2 * two) % 3
        names = [list(balances)[one], list(mistakes)[two], list(layers)[three], batches[four], np.dtype(dtype).name]
        sizes = [size + integer(0, 9) for size in balances[names[0]]]
        stored, probed = layers[names[2]]
        labels, width = labels_of(sizes, mistakes[names[1]]), integer(2, 12)
        yield case(", ".join(names), labels, width, stored, probed, cuts_of(names[3], sizes), dtype)
    for name, size, width, options in (
        ("one column", 40, 1, {}),
        ("more columns than rows", 20, 48, {}),
        ("many texts", 250, 16, {}),
        ("columns that share a part", 50, 24, {"shared": 3.0}),
        ("told apart with ease", 40, 6, {"strength": 6.0}),
        ("told apart hardly at all", 50, 6, {"strength": 0.0}),
    ):
        sizes = (size + integer(0, 9), size + integer(0, 9))
        yield case(name, labels_of(sizes, (0.05, 0.05)), width, cuts=cuts_of("even batches", sizes), **options)
    yield {"name": "experiment", "seed": seed % 1000}

    def placed(train_labels, test_labels):
        """Labels of both sides that make the labels of training and test rows these."""
        train, test = split(len(train_labels) + len(test_labels))
        flat = np.empty(len(train) + len(test), dtype=np.int64)
        flat[train], flat[test] = train_labels, test_labels
        return np.split(flat, [len(flat) // 2])

    mixed = generator.permutation(np.tile([0, 1, 1], 16))
    for value in (0, 1):
        yield case(f"test rows that are all {value}", placed(mixed, np.full(12, value)), 4, 2) | {"edge": True}
        refused = placed(np.full(48, value), generator.permutation(np.tile([0, 1], 6)))
        name = f"training rows that are all {value}"
        yield case("", placed(mixed, mixed[:12]), 4) | {"name": name, "labels": refused, "edge": True}
    yield case("five texts", placed([1, 0, 1, 0], [1]), 3, 2) | {"edge": True}
    labels = placed(mixed, mixed[:12])
    yield case("no positive found", labels, 4, 2, low=True) | {"edge": True}
    yield case("no positive found, and none there", placed(mixed, np.zeros(12, int)), 4, 2, low=True) | {"edge": True}


def split(count):
    order = np.random.RandomState(42).permutation(count)
    tested = -(-count // 5)
    return order[tested:], order[:tested]


def fitted(rows, labels):
    """The weights and the bias at the minimum, by Newton's method."""
    inputs = np.column_stack([rows, np.ones(len(rows))])
    penalties = np.append(np.full(rows.shape[1], PENALTY), 0.0)

    def loss(theta):
        scores = inputs @ theta
        return np.logaddexp(0, scores).sum() - labels @ scores + penalties @ theta**2 / 2

    theta = np.zeros(len(penalties))
    for _ in range(50):
        chances = expit(inputs @ theta)
        gradient = inputs.T @ (chances - labels) + penalties * theta
        if np.abs(gradient).max() < 1e-9 * len(rows):
            break
        curvature = (inputs.T * (chances * (1 - chances))) @ inputs + np.diag(penalties)
        step = np.linalg.solve(curvature, gradient)
        while loss(theta - step) > loss(theta) + 1e-9:
            step = step / 2
        theta = theta - step
    return theta


def observe(case):
    if "seed" in case:
        from experiment import run

        # Rates may jump where rounding decides.
        return {"experiment": {stage: metrics for stage, metrics in run(case["seed"]).items() if stage != "rates"}}
    from probing import probing

    features, labels = deepcopy(case["features"]), deepcopy(case["labels"])
    try:
        metrics = probing(*features, *labels, case["n_layers"])
    except ValueError:
        return {"refused": True}
    given = [*features[0], *features[1], *labels]
    kept = [*case["features"][0], *case["features"][1], *case["labels"]]
    unchanged = all(np.array_equal(one, other) for one, other in zip(given, kept, strict=True))
    return {"metrics": [list(values) for values in metrics], "unchanged": unchanged}
