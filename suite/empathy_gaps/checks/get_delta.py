"""get_delta: the score of matrices of all three categories, and what it refuses; then the experiment."""

import numpy as np

SIZES = {"ethnicity": 19, "nationality": 22, "religion": 6}


def cases(seed):
    generator = np.random.default_rng(seed)

    def matrix(size):
        """Neither symmetric nor centred, and every row and column has a level of its own."""
        levels = generator.normal(size=(size, 1)) + 2 * generator.normal(size=(1, size))
        return 0.5 + levels + generator.normal(size=(size, size))

    for option, size in SIZES.items():
        yield {"name": f"any matrix, {option}", "group_option": option, "matrix": matrix(size)}
        strong = matrix(size) + 3 * np.eye(size)
        yield {"name": f"strong diagonal, {option}", "group_option": option, "matrix": strong}
        reference = matrix(size)
        reference[0] += 10
        reference[:, 0] -= 7
        reference[0, 0] = 40
        yield {"name": f"an unlike reference, {option}", "group_option": option, "matrix": reference}
    blocks = matrix(19)
    for start, stop in ((1, 6), (6, 10), (10, 13), (13, 19)):
        blocks[start:stop, start:stop] += 2
    yield {"name": "blocks", "group_option": "ethnicity", "matrix": blocks}
    yield {"name": "rows of lists", "group_option": "religion", "matrix": matrix(6).tolist()}
    yield {"name": "whole numbers", "group_option": "religion", "matrix": generator.integers(-9, 9, size=(6, 6))}
    yield {"name": "without the reference", "group_option": "religion", "matrix": matrix(5)}
    yield {"name": "a column short", "group_option": "religion", "matrix": matrix(6)[:, :5]}
    yield {"name": "a row too many", "group_option": "religion", "matrix": matrix(7)[:, :6]}
    yield {"name": "of another category", "group_option": "nationality", "matrix": matrix(19)}
    yield {"name": "experiment", "seed": seed % 1000}


def observe(case):
    if "seed" in case:
        from experiment import run

        return {"experiment": run(case["seed"])}
    from analysis.metrics import get_delta

    given = case["matrix"].copy()
    try:
        score = get_delta(given, case["group_option"])
    except ValueError as error:
        return {"error": type(error).__name__}
    return {"score": score, "unchanged": bool(np.array_equal(given, case["matrix"]))}
