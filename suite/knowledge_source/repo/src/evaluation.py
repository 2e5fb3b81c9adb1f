"""Success rates over relation groups with their confidence (Section 4.3), and who knows its subjects (Section 6)."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

_Z_SCORE = 1.96


def success_rates(metrics: Iterable[Any]) -> dict[int, tuple[float, float]]:
    """For each layer the average success rate over groups (equation 9) and half the width of its error bars (8)."""
    by_layer: dict[int, list[Any]] = {}
    for item in metrics:
        by_layer.setdefault(item["layer"], []).append(item)
    rates = {}
    for layer, items in by_layer.items():
        counts = np.array([item["nb_test_examples"] for item in items], dtype=float)
        successes = np.array([item["success_rate"] for item in items])
        shares = counts / counts.sum()
        variances = successes * (1 - successes) / counts
        rates[layer] = (float(shares @ successes), float(_Z_SCORE * np.sqrt(shares**2 @ variances)))
    return rates


def probability_of_being_larger(ones: ArrayLike, others: ArrayLike) -> float:
    """The statistic of the Mann-Whitney test, divided by the number of pairs: 0.5 where neither tends to be larger."""
    differences = np.subtract.outer(np.asarray(ones), np.asarray(others))
    return float(np.mean((np.sign(differences) + 1) / 2))
