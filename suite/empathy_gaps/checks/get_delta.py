"""get_delta: the score of matrices of all three categories, and what it refuses; then the experiment."""

from copy import deepcopy

import numpy as np

SIZES = {"ethnicity": 19, "nationality": 22, "religion": 6}


def cases(seed):
    generator = np.random.default_rng(seed)

    def matrix(size):
        """Neither symmetric nor centred, and every row and column has a level of its own."""
        levels = generator.normal(size=(size, 1)) + 2 * generator.normal(size=(1, size))
        return 0.5 + levels + generator.normal(size=(size, size))

    # Before all others of its category: the type of a first call must not show in later ones.
    whole = generator.integers(-9, 9, size=(6, 6))
    yield {"name": "whole numbers", "group_option": "religion", "matrix": whole}
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
    yield {"name": "far from 0", "group_option": "ethnicity", "matrix": 1e3 + 0.005 * matrix(19)}
    yield {"name": "near to 0", "group_option": "ethnicity", "matrix": 1e-9 * matrix(19)}
    yield {"name": "laid out by columns", "group_option": "ethnicity", "matrix": np.asfortranarray(matrix(19))}
    yield {"name": "every other cell", "group_option": "religion", "matrix": matrix(12)[::2, ::2]}
    yield {"name": "rows of lists", "group_option": "religion", "matrix": matrix(6).tolist()}
    mixed = matrix(6).tolist()
    mixed[0][0], mixed[2][3] = 1, -2
    yield {"name": "rows of lists, whole numbers among them", "group_option": "religion", "matrix": mixed}
    large = generator.integers(2**20, 2**22, size=(22, 22)) * 2**38
    yield {"name": "large whole numbers", "group_option": "nationality", "matrix": large}
    small = (12 * whole).astype(np.int8)
    yield {"name": "whole numbers of a byte", "group_option": "religion", "matrix": small}
    for option, size in SIZES.items():
        for name in ("int8", "uint8", "int16", "uint16", "int32", "uint32"):
            # Their sums are more than the type holds.
            most = np.iinfo(name).max
            high = generator.integers(most // 2, most, size=(size, size)).astype(name)
            yield {"name": f"whole numbers of {name}, {option}", "group_option": option, "matrix": high}
    yield {"name": "whole numbers in rows of lists", "group_option": "religion", "matrix": whole.tolist()}
    yield {"name": "without the reference", "group_option": "religion", "matrix": matrix(5)}
    yield {"name": "a column short", "group_option": "religion", "matrix": matrix(6)[:, :5]}
    yield {"name": "two columns too many", "group_option": "religion", "matrix": matrix(8)[:6]}
    yield {"name": "a row too many", "group_option": "religion", "matrix": matrix(7)[:, :6]}
    yield {"name": "of another category", "group_option": "nationality", "matrix": matrix(19)}
    for option, size in (("religion", 19), ("ethnicity", 22), ("nationality", 23), ("religion", 7), ("ethnicity", 20)):
        name = f"{size} rows and columns, {option}"
        yield {"name": name, "group_option": option, "matrix": matrix(size)}
    yield {"name": "one dimension more, at the end", "group_option": "religion", "matrix": matrix(6)[:, :, np.newaxis]}
    yield {"name": "one dimension more, at the start", "group_option": "religion", "matrix": matrix(6)[np.newaxis]}
    yield {"name": "all cells in a row", "group_option": "religion", "matrix": matrix(6).ravel()}
    yield {"name": "one row", "group_option": "religion", "matrix": matrix(6)[0]}
    yield {"name": "one cell", "group_option": "religion", "matrix": 0.5}
    for value in (0.0, 0.75):
        yield {"name": f"all cells are {value}", "group_option": "ethnicity", "matrix": np.full((19, 19), value)}
    given = {"group_option": "nationality", "matrix": matrix(22)}
    yield {"name": "cells that can't be written", **given, "read_only": True}
    for size in SIZES.values():
        yield {"name": f"of no category, {size} identities", "group_option": "", "matrix": matrix(size)}
    yield {"name": "nothing", "group_option": "religion", "matrix": []}
    yield {"name": "experiment", "seed": seed % 1000}


def observe(case):
    if "seed" in case:
        from experiment import run

        return {"experiment": run(case["seed"])}
    from analysis.metrics import get_delta

    given = deepcopy(case["matrix"])
    scores = []
    if "read_only" in case:
        given.setflags(write=False)
    # The same object again, with its rows but the reference's in reverse.
    for _ in range(1 if "read_only" in case else 2):
        before, handling = deepcopy(given), np.geterr()
        try:
            score = get_delta(given, case["group_option"])
        except ValueError:
            return {"refused": True}
        unchanged = _same(given, before) and np.geterr() == handling
        scores.append({"score": score, "a_float": isinstance(score, float), "unchanged": unchanged})
        if "read_only" not in case:
            given[1:] = given[:0:-1]
    return {"scores": scores}


def _same(one, other):
    return type(one) is type(other) and bool(np.array_equal(one, other, equal_nan=True))
