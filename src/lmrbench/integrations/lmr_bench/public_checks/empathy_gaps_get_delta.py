"""get_delta: the empathy gap of the matrices of the three identity categories."""

import numpy as np

PARAMETERS = ("matrix", "group_option")
SIZES = {"ethnicity": 19, "nationality": 22, "religion": 6}


def every_case(seed):
    """Yield the cases that a seed draws."""
    generator = np.random.default_rng(seed)
    for option, size in SIZES.items():
        for number in range(3):
            levels = generator.normal(size=(size, 1)) + 2 * generator.normal(size=(1, size))
            matrix = levels + generator.normal(size=(size, size))
            yield {"name": f"{option} {number}", "matrix": matrix, "group_option": option}
        strong = generator.normal(size=(size, size)) + 3 * np.eye(size)
        yield {"name": f"{option}, a strong diagonal", "matrix": strong, "group_option": option}


def observe(case):
    """Run the function on a case and return what it computes."""
    get_delta = loaded(*TARGET)
    return {"delta": float(get_delta(case["matrix"].copy(), case["group_option"]))}
