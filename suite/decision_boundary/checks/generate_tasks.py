"""generate_tasks and split_task: collections of every type, divisions of tasks with points alike; the experiment."""

import random

import numpy as np

NAMES = ("num_tasks", "num_samples_per_task", "num_dimensions", "seed", "data_type", "factor", "class_sep")
KINDS = (("linear", 3), ("circle", 2), ("moon", 2))


def cases(seed):
    generator = np.random.default_rng(seed)

    def number():
        return int(generator.integers(2**31))

    def factor():
        return float(generator.uniform(0.1, 0.9))

    def separation():
        return float(generator.uniform(1, 2))

    def tasks(name, *calls, **extra):
        return {"name": name, "calls": [dict(zip(NAMES, call, strict=True)) for call in calls], **extra}

    for kind, dimensions in KINDS:
        calls = [(3, 40, dimensions, number(), kind, factor(), separation())]
        for _ in range(3):
            count, samples = (int(value) for value in generator.integers((1, 5), (6, 70)))
            calls.append((count, samples, dimensions, number(), kind, factor(), separation()))
        yield tasks(kind, *calls)
        calls = [(3, size, dimensions, number(), kind, factor(), separation()) for size in (1, 2, 3, 4)]
        yield tasks(f"few points, {kind}", *calls)
    for dimensions in (1, 2, 5, 8):
        calls = [(2, 30, dimensions, number(), "linear", factor(), value) for value in (0.1, 1.0, separation(), 100.0)]
        yield tasks(f"linear, {dimensions} dimensions", *calls)
    # Both clusters lie at the same place in some dimensions, far from 0.
    yield tasks("clusters far from 0", (4, 30, 8, number(), "linear", factor(), 1e6))
    calls = [(2, 31, 2, number(), "circle", value, separation()) for value in (0.0, 0.999)]
    yield tasks("inner circles of any size", *calls)
    yield tasks("hundreds of tasks", (300, 3, 2, number(), "circle", factor(), separation()))
    yield tasks("hundreds of points", (2, 701, 2, number(), "moon", factor(), separation()))
    start, one, other = number(), factor(), separation()
    yield tasks(
        "one argument changed after the other",
        (3, 11, 2, start, "circle", one, other),
        (3, 11, 2, start, "circle", one / 2, other),
        (3, 11, 2, start + 1, "circle", one / 2, other),
        (2, 12, 2, start + 1, "circle", one / 2, other),
        (2, 12, 2, start + 1, "linear", one / 2, other),
        (2, 12, 2, start + 1, "linear", one / 2, other + 1),
        (2, 12, 3, start + 1, "linear", one / 2, other + 1),
    )

    calls = [
        (0, size, dimensions, number(), kind, factor(), separation()) for kind, dimensions in KINDS for size in (1, 9)
    ]
    yield tasks("no tasks", *calls, edge=True)
    unused = (("linear", 9.5, separation()), ("linear", -10, separation()), ("moon", 1.0, 0), ("moon", -3.5, -2.0))
    unused += (("circle", factor(), 0), ("circle", factor(), -10.0))
    calls = [(2, 10, 2, number(), *others) for others in unused]
    yield tasks("parameters without a use", *calls, edge=True)
    unknown = ("", "Linear", "moons", "circle ", "mixed")
    calls = [(2, 10, 2, number(), kind, factor(), separation()) for kind in unknown]
    yield tasks("unknown types", *calls, edge=True)
    wrong = (("circle", 1), ("circle", 3), ("moon", 1), ("moon", 3), ("linear", 0), ("linear", 9))
    calls = [(2, 10, dimensions, number(), kind, factor(), separation()) for kind, dimensions in wrong]
    calls += [(1, 0, dimensions, number(), kind, factor(), separation()) for kind, dimensions in KINDS]
    calls += [(1, 9, 2, number(), "circle", value, separation()) for value in (1.0, 1.5, -0.1)]
    yield tasks("what can't be drawn", *calls, edge=True)
    calls = [(2, 10, dimensions, number(), kind, factor(), separation()) for kind, dimensions in KINDS]
    yield tasks("global generators", *calls, edge=True, afterwards=True)

    def points(count, dimensions=2, most=100, kind=np.float64):
        """Coordinates near whole numbers, on either side of them."""
        whole = generator.integers(0, most + 1, size=(count, dimensions))
        return np.clip(whole + generator.uniform(-0.45, 0.45, size=whole.shape), 0, 100).astype(kind)

    def labels(count, values=(0, 1)):
        given = np.concatenate([values, generator.choice(values, size=max(count - len(values), 0))])[:count]
        return generator.permutation(given).astype(np.int64)

    def split(name, given, classes, *asked, **extra):
        return {"name": name, "points": given, "labels": classes, "asked": list(asked), **extra}

    yield split("two classes", points(200), labels(200), (32, 50, number()), (8, 50, number()))
    yield split("single precision", points(150, kind=np.float32), labels(150), (16, 20, number()), (32, 0, number()))
    yield split("three classes", points(90), labels(90, (0, 3, 7)), (12, 20, number()), (30, 5, number()))
    yield split("far labels", points(300), labels(300, (1000, 2, 257, 513, 1)), (40, 60, number()))
    yield split("classes that have no 0", points(60), labels(60, (1, 2)), (10, 12, number()))
    yield split("one class", points(40), labels(40, (5,)), (7, 9, number()))
    yield split(
        "a class for each point", points(12), np.arange(12) * 50, (0, 4, number()), (6, 0, number()), (12, 0, number())
    )
    same = number()
    asked = [(size, queries, same) for size, queries in ((4, 30), (16, 30), (40, 30), (16, 31), (16, 0), (0, 30))]
    yield split("one seed, more examples and queries", points(160), labels(160), *asked)
    for index, most in enumerate((4, 5, 7, 9, 12)):
        asked = [(2 * size, queries, number()) for size in (1, 2, 3, 4) for queries in (0, 3, 8)]
        yield split(f"many alike, {index}", points(120, most=most), labels(120), *asked)
    asked = [(size, queries, number()) for size in (2, 4, 6, 8) for queries in (0, 2, 5, 11)]
    yield split(
        "many alike of four classes", points(400, most=6), labels(400, (4, 9, 6, 2)), *asked, *[(32, 5, number())]
    )
    yield split("alike in one dimension", points(80, 1, most=20), labels(80), (4, 6, number()), (6, 2, number()))
    yield split(
        "eight dimensions, few values", points(300, 8, most=1), labels(300), (20, 30, number()), (40, 10, number())
    )
    few = points(200, 1, most=17)
    nothing = np.zeros((200, 2))
    for name, given in (("first", [few, nothing]), ("last", [nothing, few])):
        asked = [(size, 5, number()) for size in (8, 12)]
        yield split(f"the {name} dimension alone tells apart", np.concatenate(given, axis=1), labels(200), *asked)
    swapped = points(20)
    swapped = np.concatenate([swapped, swapped[:, ::-1]])
    yield split("the same numbers in the other order", swapped, labels(40), *[(12, 20, number()) for _ in range(6)])
    digits = np.array([[1, 23], [12, 3], [11, 1], [1, 11], [2, 22], [22, 2], [10, 0], [1, 0], [100, 1], [10, 1]])
    yield split("the same digits", digits * 1.0, np.arange(10) % 2, *[(6, 4, number()) for _ in range(6)])
    nearly = np.repeat([[100.0] * 8], 9, axis=0)
    nearly[np.arange(1, 9), np.arange(8)] = 99.0
    yield split("nearly alike in eight dimensions", nearly, np.zeros(9, dtype=np.int64), (9, 0, number()))
    near = np.repeat(generator.choice(np.arange(1, 99), size=(30, 1), replace=False), 2, axis=0)
    near = near + np.tile([[0.44], [0.55]], (30, 1)) * [1, 1]
    yield split("rounded apart", near, labels(60), *[(20, 10, number()) for _ in range(4)])
    below = np.repeat(generator.choice(np.arange(1, 99), size=(30, 1), replace=False), 2, axis=0)
    below = below + np.tile([[-0.3], [0.3]], (30, 1)) * [1, 1]
    yield split("rounded together", below, labels(60), *[(8, 10, number()) for _ in range(4)])
    ends = np.array([[0.0, 0.3], [0.2, 0.0], [100.0, 99.7], [99.6, 100.0], [0.1, 100.0], [99.9, 0.4], [99.4, 0.6]])
    yield split("ends of the range", np.tile(ends, (2, 1)), np.arange(14) // 7, *[(4, 2, number()) for _ in range(5)])
    alike = np.full((9, 2), 50.0)
    yield split("all points alike", alike, labels(9), (2, 0, number()), (0, 9, number()), (0, 0, number()))
    yield split(
        "all of one class and alike", alike, labels(9, (1,)), (1, 0, number()), (1, 1, number()), (2, 0, number())
    )
    yield split(
        "one point",
        points(1),
        labels(1, (3,)),
        *[(*sizes, number()) for sizes in ((1, 0), (0, 1), (1, 1), (0, 2), (2, 0))],
    )
    yield split(
        "all points are queries", points(30), labels(30), (0, 30, number()), (0, 31, number()), (2, 30, number())
    )
    yield split("odd numbers", points(60), labels(60), *[(size, 5, number()) for size in (1, 7, 9)])
    yield split(
        "no multiple of three", points(60), labels(60, (0, 1, 2)), *[(size, 5, number()) for size in (8, 10, 4)]
    )
    lattice = np.stack(np.divmod(np.arange(40), 7), axis=1) * 3.0
    halves = generator.permutation(np.arange(40) % 2)
    yield split("every point is needed", lattice, halves, (40, 0, number()), (42, 0, number()), (40, 1, number()))
    for left_over in range(4):
        asked = [(2 * size, 20, same) for size in range(6 + left_over, 12)]
        yield split(f"as many as there are, {left_over}", lattice, generator.permutation(halves), *asked)
    rare = np.zeros(50, dtype=np.int64)
    rare[[4, 30]] = 1
    asked = [(size, queries, value) for value in range(3) for size, queries in ((2, 25), (4, 0), (0, 10))]
    yield split("a rare class, at times among the queries alone", points(50), rare, *asked)
    yield split("a thousand points", points(1000), labels(1000), (200, 400, number()), (100, 999, number()))
    for layout in ("every other column", "by columns", "backwards"):
        yield split(layout, points(80), labels(80), (12, 9, number()), (6, 30, number()), layout=layout, edge=True)
    yield split("left as they are", points(80), labels(80), (12, 9, number()), edge=True, afterwards=True)
    empty = [(0, 0, number()), (0, 9, number()), (6, 0, number())]
    yield split("no examples or no queries", points(30), labels(30), *empty)
    yield {"name": "experiment", "seed": seed % 1000}


def observe(case):
    if "seed" in case:
        from experiment import run

        return {"experiment": run(case["seed"])}
    from data_utils import generate_tasks, split_task

    if "calls" in case:
        found = {"calls": [_guarded(generate_tasks, **call) for call in case["calls"]]}
        return found | (_afterwards() if "afterwards" in case else {})
    points, labels = _laid_out(case["points"].copy(), case["labels"].copy(), case.get("layout"))
    found = {"splits": [_guarded(split_task, points, labels, *asked) for asked in case["asked"]]}
    if "afterwards" in case:
        unchanged = np.array_equal(points, case["points"]) and np.array_equal(labels, case["labels"])
        found |= _afterwards() | {"unchanged": bool(unchanged)}
    return found


def _laid_out(points, labels, layout):
    """The same values, otherwise in memory."""
    if layout == "every other column":
        return np.repeat(points, 2, axis=1)[:, ::2], np.repeat(labels, 2)[1::2]
    if layout == "by columns":
        return np.asfortranarray(points), labels
    if layout == "backwards":
        return points[::-1].copy()[::-1], labels[::-1].copy()[::-1]
    return points, labels


def _guarded(function, *args, **kwargs):
    try:
        first, second = function(*args, **kwargs)
    except ValueError:
        return {"refused": True}
    return {"first": first, "second": second}


def _afterwards():
    """What the global generators draw next."""
    return {"drawn next": [random.random(), float(np.random.random())]}
