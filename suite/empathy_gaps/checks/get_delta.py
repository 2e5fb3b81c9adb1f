"""get_delta: the score of matrices of all three categories; then the experiment."""

from copy import deepcopy

import numpy as np

SIZES = {"ethnicity": 19, "nationality": 22, "religion": 6}
# The first and last rows of the ethnic groups.
BLOCKS = ((1, 6), (6, 10), (10, 13), (13, 19))


def cases(seed):
    generator = np.random.default_rng(seed)

    def matrix(rows, columns=None):
        """Neither symmetric nor centred. Every row and column has a level of its own."""
        columns = columns or rows
        levels = generator.normal(size=(rows, 1)) + 2 * generator.normal(size=(1, columns))
        return 0.5 + levels + generator.normal(size=(rows, columns))

    def in_group(cells):
        cells += generator.uniform(1, 4) * np.eye(len(cells))

    def in_blocks(cells):
        for start, stop in BLOCKS:
            cells[start:stop, start:stop] += generator.uniform(1, 3)

    def of_reference(cells):
        cells[0] += generator.uniform(5, 15)
        cells[:, 0] -= generator.uniform(5, 15)
        cells[0, 0] += 40

    def normalized(cells):
        cells -= cells.mean()
        cells /= cells.std()

    for option, size in SIZES.items():
        traits = {"an in-group": in_group, "an unlike reference": of_reference, "z-scores": normalized}
        if option == "ethnicity":
            traits["blocks"] = in_blocks
        yield {"name": f"{option}, any matrix", "group_option": option, "matrix": matrix(size)}
        for name, change in traits.items():
            cells = matrix(size)
            change(cells)
            yield {"name": f"{option}, {name}", "group_option": option, "matrix": cells}
        for number in range(3):
            cells = matrix(size) * generator.uniform(0.1, 30)
            for change in traits.values():
                if generator.random() < 0.6:
                    change(cells)
            yield {"name": f"{option}, combined {number}", "group_option": option, "matrix": cells}
        cells = matrix(size)
        yield {"name": f"{option}, symmetric", "group_option": option, "matrix": cells + cells.T}
    yield {"name": "experiment", "seed": seed % 1000}

    for option, size in SIZES.items():
        whole = generator.integers(-9, 9, size=(size, size))
        given = {"group_option": option, "edge": True}
        yield {"name": f"{option}, whole numbers", "matrix": whole, **given}
        yield {"name": f"{option}, rows of lists", "matrix": matrix(size).tolist(), **given}
        yield {"name": f"{option}, float32", "matrix": matrix(size).astype(np.float32), **given}
    yield {"name": "whole numbers in lists", "group_option": "religion", "matrix": whole.tolist(), "edge": True}
    others = {"without the reference": matrix(5), "a column short": matrix(6, 5), "a row too many": matrix(7, 6)}
    others |= {"too large": matrix(7), "of another category": matrix(19), "flat": matrix(6).ravel()}
    others |= {
        "one dimension more, first": matrix(6)[np.newaxis],
        "one dimension more, last": matrix(6)[..., np.newaxis],
    }
    for name, cells in others.items():
        yield {"name": f"another shape: {name}", "group_option": "religion", "matrix": cells, "edge": True}


def observe(case):
    if "seed" in case:
        from experiment import run

        return {"experiment": run(case["seed"])}
    from analysis.metrics import get_delta

    given = deepcopy(case["matrix"])
    try:
        score = get_delta(given, case["group_option"])
    except ValueError:
        return {"refused": True}
    observation = {"score": score, "a_float": isinstance(score, float)}
    if "edge" in case:
        observation["unchanged"] = type(given) is type(case["matrix"]) and np.array_equal(given, case["matrix"])
    return observation
