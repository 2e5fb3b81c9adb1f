"""probing: probes whose test rows lie close to the boundary, in known places; what is refused; then the experiment."""

import random
from copy import deepcopy

import numpy as np
from scipy.special import expit

PENALTY = 4.0
# Scores of test rows at the minimum: no nearer to 0, and none of different labels nearer to each other, nor by this of
# their size.
ROOM = 0.0025


def cases(seed):
    generator = np.random.default_rng(seed)

    def labels_of(sizes, mixed=(0.0, 0.0)):
        """The labels of both sides, of which a share stands on the wrong one."""
        pairs = zip(sizes, mixed, (1, 0), strict=True)
        return [np.where(generator.random(size) < share, 1 - side, side) for size, share, side in pairs]

    def layer(labels, width, dtype, strength, scale, offset, dead, collinear, shared, far, wide):
        """Rows of a layer.

        dead: two columns do not vary in training, and by about this in the test rows. wide: how much farther out the
        test rows lie than those of training. far: how much larger than 1 their scores are.
        """
        count = len(labels)
        _, test = split(count)
        values = generator.normal(size=(count, width)) @ (np.eye(width) + 0.4 * generator.normal(size=(width, width)))
        values += np.outer(2 * labels - 1, strength * generator.normal(size=width) / np.sqrt(width))
        values += shared * generator.normal(size=(count, 1))
        if collinear:
            values[:, width // 2 :] = values[:, : width - width // 2] * 2 + 1
        values = values * scale + offset * scale * generator.choice([-1, 1], size=width)
        if dead:
            values[:, -2] = 0.1
            values[test, -2] += generator.integers(1, 4, size=len(test))
            values[:, -1] = 0.0
            values[test, -1] = generator.integers(3, 9, size=len(test))
            values[test, -2:] *= dead
        return with_scores(values.astype(dtype), labels, far, wide)

    def with_scores(values, labels, far=1.0, wide=1.0):
        """The rows with those of the test put where the probe's score is small and known."""
        train, test = split(len(labels))
        mean, deviation = moments(values[train])
        theta = fitted((values[train] - mean) / deviation, labels[train])
        while True:
            rows = values.copy()
            units = wide * (rows[test] - mean) / deviation
            missing = far * scores_of(labels[test]) - units @ theta[:-1] - theta[-1]
            units = units + np.outer(missing, theta[:-1]) / (theta[:-1] @ theta[:-1])
            rows[test] = (units * deviation + mean).astype(values.dtype)
            found = (rows[test] - mean) / deviation @ theta[:-1] + theta[-1]
            if apart(found, labels[test]):
                return rows

    def scores_of(labels):
        """Small scores, in an order that has something to do with the labels."""
        count = len(labels)
        steps = np.arange(count) - int(count * generator.uniform(0.3, 0.7))
        places = np.sign(steps + 0.5) * 0.008 * (np.abs(steps + 0.5) ** 1.15) + generator.uniform(-5e-4, 5e-4, count)
        order = np.argsort(labels + generator.normal(size=count))
        scores = np.empty(count)
        scores[order] = places
        return scores

    def store(labels, layers, sizes, batches, width, dtype, **options):
        """Embeddings and layers of both sides, in batches."""
        flat = np.concatenate(labels)
        rows = [3 * generator.normal(size=(len(flat), width)).astype(dtype)]
        rows += [layer(flat, width, dtype, **options) for _ in range(layers)]
        stacked = np.stack(rows, axis=1)
        return [batched(side, batch) for side, batch in zip(np.split(stacked, [sizes[0]]), batches, strict=True)]

    def case(name, sizes=(40, 40), layers=2, probed=None, width=5, mixed=(0.0, 0.0), labels=None, **options):
        batches = options.pop("batches", (16, 16))
        extra = {key: options.pop(key) for key in ("layout", "read_only", "again") if key in options}
        settings = {"strength": 1.0, "scale": 1.0, "offset": 0.5, "dead": 0, "collinear": False, **options}
        settings = {"shared": 0.0, "far": 1.0, "wide": 1.0, **settings}
        dtype = settings.pop("dtype", np.float64)
        labels = labels_of(sizes, mixed) if labels is None else labels

        def features():
            return store(labels, layers, sizes, batches, width, dtype, **settings)

        made = {
            "name": name,
            "features": features(),
            "labels": labels,
            "n_layers": layers if probed is None else probed,
            **extra,
        }
        if "again" in extra:
            made["again"] = features()
        return made

    def placed(sizes, train_labels, test_labels):
        """Labels of both sides that make the labels of training and test rows these."""
        train, test = split(sum(sizes))
        flat = np.empty(sum(sizes), dtype=np.int64)
        flat[train], flat[test] = train_labels, test_labels
        return np.split(flat, [sizes[0]])

    def few_rows():
        """Five rows, each many times. Newton's method with full steps runs away from the minimum."""
        counts, marks = (8, 1, 58, 163, 12), (0, 0, 0, 1, 0)
        rows = np.tile([[-0.394, 1.179], [15.405, 1.564], [0.125, -1.557], [-0.124, 0.306], [0.055, 2.459]], 32)
        train, test = split(303)
        values, labels = np.empty((303, 64)), np.empty(303, dtype=np.int64)
        values[train], labels[train] = np.repeat(rows, counts, axis=0), np.repeat(marks, counts)
        values[test], labels[test] = np.resize(rows, (61, 64)), generator.integers(2, size=61)
        stacked = np.stack([generator.normal(size=values.shape), with_scores(values, labels)], axis=1)
        return {
            "name": "a few rows many times",
            "features": [batched(side, 16) for side in np.split(stacked, [150])],
            "labels": np.split(labels, [150]),
            "n_layers": 1,
        }

    yield case("as many on both sides", layers=3, width=6)
    yield case("few positives", sizes=(18, 82))
    yield case("few negatives", sizes=(85, 15), strength=2.0)
    yield case("very few positives", sizes=(9, 111), width=3)
    yield case("annotators who disagree", sizes=(50, 50), mixed=(0.2, 0.1))
    yield case("annotators who disagree on one side", sizes=(30, 70), mixed=(0.0, 0.3))
    yield case("labels against the sides", sizes=(35, 60), mixed=(1.0, 1.0))
    yield case("labels apart from the sides", sizes=(60, 30), mixed=(0.5, 0.5))
    yield case("all layers but the last two", layers=5, probed=3)
    yield case("the first layer of many", layers=4, probed=1)
    yield case("one layer", layers=1)
    yield case("twelve layers", sizes=(25, 25), layers=12, width=2)
    yield case("one text a batch", sizes=(22, 28), batches=(1, 1), layers=1)
    yield case("one batch a side", batches=(64, 64), sizes=(33, 44))
    yield case("batches of unlike length", sizes=(45, 52), batches=((1, 30, 2, 12), (20, 1, 1, 25, 5)))
    yield case("a short last batch", sizes=(33, 34), batches=(16, 11))
    for count in (81, 82, 83, 84):
        yield case(f"{count} texts", sizes=(40, count - 40), layers=1)
    yield case("one column", width=1, layers=3)
    yield case("more columns than rows", sizes=(20, 20), width=40, layers=1)
    yield case("sixty-four columns", sizes=(60, 60), width=64, layers=1)
    yield case("many texts", sizes=(300, 300), width=8, batches=(64, 64))
    yield case("single precision", dtype=np.float32, layers=3)
    yield case("single precision, far from 0", dtype=np.float32, offset=100.0)
    yield case("far from 0", offset=1e6)
    yield case("hardly varying", offset=4e6, wide=100.0)
    yield case("of small magnitude", scale=2.5e-10, sizes=(30, 50), wide=100.0)
    yield case("of great magnitude", scale=1e8, sizes=(50, 30), batches=(64, 64))
    yield case("of small magnitude, in single precision", scale=1e-9, dtype=np.float32)
    yield case("columns of unlike scale", scale=10.0 ** np.arange(-3, 4), width=7, sizes=(30, 60))
    yield case("columns that share a part", sizes=(50, 50), width=32, shared=3.0)
    yield case("columns that share nearly all", sizes=(60, 60), width=16, shared=30.0)
    yield case("many that share a part", sizes=(300, 300), width=64, shared=10.0, mixed=(0.2, 0.2), layers=1)
    yield case("scores far from 0", sizes=(50, 60), far=3e4, layers=1)
    yield case("test rows far out", sizes=(100, 100), width=16, wide=3e3)
    yield few_rows()
    yield case("many positives", sizes=(520, 80), layers=1)
    yield case("told apart with ease", strength=8.0, sizes=(30, 60))
    yield case("told apart hardly at all", strength=0.0, sizes=(50, 60), width=10)
    yield case("columns that do not vary in training", sizes=(30, 50), dead=1, layers=1)
    yield case("the same, and far off in the test rows", sizes=(30, 50), dead=1e9, layers=1)
    yield case("columns that follow from others", sizes=(30, 50), collinear=True, layers=1, width=6)
    for layout in ("columns first", "every other column", "backwards"):
        yield case(f"laid out {layout}", sizes=(30, 40), layout=layout)
    yield case("that can't be written", sizes=(30, 40), read_only=True)
    yield case("filled again", sizes=(30, 45), again=True)
    yield case("five texts", sizes=(2, 3), labels=placed((2, 3), [1, 0, 1, 0], [1]), layers=3)
    yield case("five texts, of a negative", sizes=(3, 2), labels=placed((3, 2), [0, 1, 1, 0], [0]), layers=3)
    yield case("six texts", sizes=(1, 5), labels=placed((1, 5), [0, 1, 1, 0], [1, 0]), layers=3)
    mixed = np.tile([0, 1, 1], 16)
    for value in (0, 1):
        labels = placed((30, 30), mixed, np.full(12, value))
        yield case(f"test rows that are all {value}", sizes=(30, 30), labels=labels)
        labels = placed((30, 30), np.full(48, value), np.tile([0, 1], 6))
        yield {**case("", sizes=(30, 30)), "name": f"training rows that are all {value}", "labels": labels}
        yield {
            **case("", sizes=(10, 10)),
            "name": f"rows that are all {value}",
            "labels": [np.full(10, value), np.full(10, value)],
        }
    rare = np.zeros(48, dtype=np.int64)
    rare[generator.integers(48)] = 1
    labels = placed((30, 30), rare, np.tile([0, 0, 0, 1], 3))
    yield none_found(case("no positive found", sizes=(30, 30), labels=labels, layers=1), 1)
    labels = placed((30, 30), rare, np.zeros(12, dtype=np.int64))
    yield none_found(case("no positive found, and none there", sizes=(30, 30), labels=labels, layers=1), 1)
    yield {"name": "experiment", "seed": seed % 1000}


def split(count):
    order = np.random.RandomState(42).permutation(count)
    tested = -(-count // 5)
    return order[tested:], order[:tested]


def moments(rows):
    wide = rows.astype(np.float64)
    deviation = wide.std(axis=0)
    deviation[np.ptp(wide, axis=0) == 0] = 1.0
    return wide.mean(axis=0), deviation


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


def apart(scores, labels):
    """Are the scores far enough from 0, and those of different labels from each other?"""
    order = np.argsort(scores)
    gaps, changes = np.diff(scores[order]), np.diff(labels[order]) != 0
    sizes = np.maximum(1, np.maximum(np.abs(scores[order][1:]), np.abs(scores[order][:-1])))
    return bool(np.abs(scores).min() >= ROOM and (gaps >= ROOM * sizes)[changes].all())


def batched(rows, lengths):
    """The rows of a side in batches, as long as is said, or of one length with a shorter last one."""
    if isinstance(lengths, int):
        return [rows[start : start + lengths].copy() for start in range(0, len(rows), lengths)]
    return [part.copy() for part in np.split(rows, np.cumsum(lengths)[:-1])]


def none_found(made, layer):
    """The case with all test rows of a layer moved to where the probe says no."""
    labels = np.concatenate(made["labels"])
    train, test = split(len(labels))
    batches = [*made["features"][0], *made["features"][1]]
    rows = np.concatenate(batches)
    mean, deviation = moments(rows[train, layer])
    theta = fitted((rows[train, layer] - mean) / deviation, labels[train])
    units = (rows[test, layer] - mean) / deviation
    units -= np.outer(units @ theta[:-1] + theta[-1] + 0.02 * (1 + np.arange(len(test))), theta[:-1]) / (
        theta[:-1] @ theta[:-1]
    )
    rows[test, layer] = units * deviation + mean
    start = 0
    for batch in batches:
        batch[:] = rows[start : start + len(batch)]
        start += len(batch)
    return made


def laid_out(array, layout):
    """The same values, otherwise in memory."""
    if layout == "columns first":
        return np.asfortranarray(array)
    if layout == "every other column":
        wide = np.full((*array.shape[:2], 2 * array.shape[2]), -7.0, dtype=array.dtype)
        wide[:, :, ::2] = array
        return wide[:, :, ::2]
    return array[:, ::-1].copy()[:, ::-1]


def observe(case):
    if "seed" in case:
        from experiment import run

        return {"experiment": run(case["seed"])["mean"]}
    from probing import probing

    features, labels = deepcopy(case["features"]), deepcopy(case["labels"])
    if "layout" in case:
        features = [[laid_out(batch, case["layout"]) for batch in side] for side in features]
    if "read_only" in case:
        for array in [*features[0], *features[1], *labels]:
            array.setflags(write=False)
    results = []
    for call in range(2 if "again" in case else 1):
        if call:
            for side, other in zip(features, case["again"], strict=True):
                for batch, values in zip(side, other, strict=True):
                    batch[:] = values
        before = deepcopy((features, labels))
        try:
            metrics = probing(*features, *labels, case["n_layers"])
        except ValueError:
            results.append("refused")
            continue
        results.append(
            {
                "metrics": [list(values) for values in metrics],
                "three_lists": len(metrics) == 3 and all(isinstance(values, list) for values in metrics),
                "floats": all(isinstance(value, float) for values in metrics for value in values),
                "unchanged": same(before, (features, labels)),
            }
        )
    return {"results": results, "random": random.random(), "numpy": float(np.random.random_sample())}


def same(one, other):
    if isinstance(one, np.ndarray):
        return one.dtype == other.dtype and np.array_equal(one, other)
    return len(one) == len(other) and all(same(left, right) for left, right in zip(one, other, strict=True))
