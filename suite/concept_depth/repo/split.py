"""Which rows a probe is trained on and which it is tested on, and their common scale."""

import numpy as np
from numpy.typing import NDArray

from config import ProbeConfig

Rows = NDArray[np.int64]
Array = NDArray[np.float64]


def split_rows(count: int, config: ProbeConfig) -> tuple[Rows, Rows]:
    """Numbers of the training rows and of the test rows, the same for the same count and config.

    Rows are numbered with the positive side first. The number of test rows is rounded up.
    """
    order = np.random.RandomState(config.seed).permutation(count)
    parts = sum(config.ratio)
    tested = -(-count * config.ratio[1] // parts)
    return order[tested:], order[:tested]


def standardize(train: NDArray[np.floating], test: NDArray[np.floating]) -> tuple[Array, Array]:
    """Both in double precision, on the scale on which the training rows have mean 0 and standard deviation 1.

    A column that is the same in all training rows is centred and not scaled.
    """
    wide = train.astype(np.float64)
    mean = wide.mean(axis=0)
    deviation = wide.std(axis=0)
    deviation[np.ptp(wide, axis=0) == 0] = 1.0
    return (wide - mean) / deviation, (test.astype(np.float64) - mean) / deviation
