"""Compute 95% intervals, for reports and agreement statistics, by resampling whole papers.

Tasks of one paper use the same repository and are similarly difficult, so they are not independent. The cluster
bootstrap (Davison and Hinkley, Bootstrap Methods and their Application, 1997, section 3.8) draws papers with
replacement, each with all of its tasks, and takes the quantiles of the statistic over the draws.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

DRAWS = 2000
CONFIDENCE = 0.95


def paper_of(task: str) -> str:
    """Return the slug of a task's paper, such as "dpo" for the task id "dpo/preference_loss"."""
    return task.partition("/")[0]


def paper_draws(papers: int, seed: int = 0) -> NDArray[np.int64]:
    """Draw papers with replacement.

    Args:
        papers: Number of papers.
        seed: Seed of the draws.

    Returns:
        An array of shape (DRAWS, papers) with the number of times that each draw contains each paper. If there are
        fewer than two papers, the array has no rows.
    """
    import numpy as np

    if papers < 2:
        return np.zeros((0, papers), dtype=np.int64)
    return np.random.default_rng(seed).multinomial(papers, np.full(papers, 1 / papers), size=DRAWS)


def central_interval(values: Sequence[float] | NDArray[np.float64]) -> tuple[float, float] | None:
    """Return the interval that contains the central 95% of the values of a resampled statistic.

    Args:
        values: The value of the statistic for each draw in which it is defined.

    Returns:
        The lower and upper quantile; None if there are no values or all are equal.
    """
    import numpy as np

    if not len(values) or np.ptp(values) < 1e-12:
        return None
    low, high = np.quantile(values, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return float(low), float(high)
