"""A stub: reads a file of numbers with a line of names above them, as baselines are kept."""

import numpy as np


class _Numbers:
    def __init__(self, numbers):
        self._numbers = numbers

    @property
    def iloc(self):
        return [_Numbers(row) for row in self._numbers]

    def to_numpy(self):
        return self._numbers


def read_csv(path):
    return _Numbers(np.loadtxt(path, delimiter=",", skiprows=1, ndmin=2))
