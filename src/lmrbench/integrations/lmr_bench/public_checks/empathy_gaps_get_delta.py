"""Check get_delta, which computes the empathy gap, on matrices for the three categories of identities.

lmrbench defines `loaded`, `instance` and `TARGET`. The constants, such as `PARAMETERS`, tell it which parameters and
attributes the check uses; see `lmrbench.integrations.lmr_bench.adapting`.
"""

import numpy as np

PARAMETERS = ("matrix", "group_option")
SIZES = {"ethnicity": 19, "nationality": 22, "religion": 6}


def every_case(seed):
    """Yield the cases that are drawn with a seed."""
    generator = np.random.default_rng(seed)
    for option, size in SIZES.items():
        for number in range(3):
            levels = generator.normal(size=(size, 1)) + 2 * generator.normal(size=(1, size))
            matrix = levels + generator.normal(size=(size, size))
            yield {"name": f"{option} {number}", "matrix": matrix, "group_option": option}
        strong = generator.normal(size=(size, size)) + 3 * np.eye(size)
        yield {"name": f"{option}, a strong diagonal", "matrix": strong, "group_option": option}


def observe(case):
    """Run the function on a case and return the gap."""
    get_delta = loaded(*TARGET)
    return {"delta": float(get_delta(case["matrix"].copy(), case["group_option"]))}
