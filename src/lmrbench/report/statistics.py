"""Means over tasks, with intervals that come from drawing whole papers.

Tasks of one paper share its repository and its difficulty, so they are not independent. The cluster bootstrap (Davison
and Hinkley, Bootstrap Methods and their Application, 1997, section 3.8) draws papers with replacement, each with all of
its tasks, and takes the quantiles of the means.
"""

from __future__ import annotations

from collections.abc import Mapping

from lmrbench.records import Record, grouped

DRAWS = 2000
CONFIDENCE = 0.95


class Estimate(Record):
    """A mean over tasks, with its interval at 95%; see `paper_interval` for where there is none."""

    mean: float
    low: float | None
    high: float | None


def estimate(values: Mapping[str, float]) -> Estimate:
    """The mean of one value per task. values: by task, at least one."""
    low, high = paper_interval(values) or (None, None)
    return Estimate(mean=sum(values.values()) / len(values), low=low, high=high)


def paper_interval(values: Mapping[str, float], seed: int = 0) -> tuple[float, float] | None:
    """The percentile interval at 95% of the mean over tasks, from 2,000 draws of papers with replacement.

    values: by task. None where it is not defined: of fewer than two papers there is nothing to draw, and where all
    values are equal, every draw gives the same mean, which says nothing of how sure it is.
    """
    import numpy as np

    of_papers = list(grouped(values, paper_of).values())
    if len(of_papers) < 2 or len(set(values.values())) < 2:
        return None
    sums = np.array([sum(values[task] for task in tasks) for tasks in of_papers], dtype=float)
    counts = np.array([len(tasks) for tasks in of_papers])
    drawn = np.random.default_rng(seed).multinomial(len(counts), np.full(len(counts), 1 / len(counts)), size=DRAWS)
    low, high = np.quantile(drawn @ sums / (drawn @ counts), [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return float(low), float(high)


def paper_of(task: str) -> str:
    """The paper that a task id names first."""
    return task.partition("/")[0]
