"""How far do those who judge the same answers agree, and how sure is that?

Agreement of one answer says little of another of the same paper, so intervals come from drawing whole papers.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from statsmodels.stats.inter_rater import cohens_kappa

from lmrbench.judging.scale import CATEGORIES, OPPOSITES
from lmrbench.records import Record

DRAWS = 2000
CONFIDENCE = 0.95


class Share(Record):
    """A share of items, with the interval that drawing whole papers gives. Without items it is not defined."""

    count: int
    of: int
    share: float | None
    low: float | None
    high: float | None


class Agreement(Record):
    """Of two who judged the same items.

    same: equal categories. conflicts: one says CC and the other LI. kappa: Cohen's, with its interval; None where both
    gave one and the same category throughout, for which it is not defined. table: how often the first said what is on
    the left, and the second what is above; both in the order of the scale.
    """

    same: Share
    conflicts: Share
    kappa: float | None
    kappa_low: float | None
    kappa_high: float | None
    table: tuple[tuple[int, ...], ...]


def agreement(
    first: Sequence[str],
    second: Sequence[str],
    papers: Sequence[str],
    scale: Sequence[str] = CATEGORIES,
    seed: int = 0,
) -> Agreement:
    """How far two agree.

    Args:
        first: what the first said of each item, each of the scale.
        second: what the second said of each.
        papers: the paper of each item.
        scale: the categories, in order.
        seed: of the draws for the intervals, of which there are 2,000.

    Raises:
        ValueError: the lengths differ, or a label is not of the scale.
    """
    if not len(first) == len(second) == len(papers):
        raise ValueError("labels and papers are not of one length")
    tables = _tables(first, second, papers, list(scale))
    whole = tables.sum(axis=0)
    ends = [place for place, name in enumerate(scale) if name in OPPOSITES]
    same = np.eye(len(scale), dtype=bool)
    conflicts = np.zeros_like(same)
    conflicts[np.ix_(ends, ends)] = True
    conflicts &= ~same
    drawn = _drawn(tables, seed)
    kappas = [value for value in map(_kappa, drawn) if value is not None]
    kappa = _kappa(whole)
    low, high = _interval(kappas) if kappa is not None else (None, None)
    return Agreement(
        same=_share(whole, same, drawn),
        conflicts=_share(whole, conflicts, drawn),
        kappa=kappa,
        kappa_low=low,
        kappa_high=high,
        table=tuple(tuple(map(int, row)) for row in whole),
    )


def _tables(first: Sequence[str], second: Sequence[str], papers: Sequence[str], scale: list[str]) -> NDArray[np.int64]:
    """A table of counts for each paper, (papers, categories, categories)."""
    places = {name: place for place, name in enumerate(dict.fromkeys(papers))}
    tables = np.zeros((len(places), len(scale), len(scale)), dtype=np.int64)
    for one, other, paper in zip(first, second, papers, strict=True):
        tables[places[paper], scale.index(one), scale.index(other)] += 1
    return tables


def _drawn(tables: NDArray[np.int64], seed: int) -> NDArray[np.int64]:
    """Tables of as many papers, drawn with replacement, (draws, categories, categories)."""
    if not len(tables):
        return tables
    generator = np.random.default_rng(seed)
    counts = generator.multinomial(len(tables), np.full(len(tables), 1 / len(tables)), size=DRAWS)
    return np.tensordot(counts, tables, axes=1)


def _kappa(table: NDArray[np.int64]) -> float | None:
    # Both said one thing only: chance agrees as often as they do.
    if np.count_nonzero(table.sum(axis=0) + table.sum(axis=1)) < 2:
        return None
    return float(cohens_kappa(table, return_results=False))


def _share(whole: NDArray[np.int64], chosen: NDArray[np.bool_], drawn: NDArray[np.int64]) -> Share:
    count, total = int(whole[chosen].sum()), int(whole.sum())
    if not total:
        return Share(count=0, of=0, share=None, low=None, high=None)
    low, high = _interval(drawn[:, chosen].sum(axis=1) / drawn.sum(axis=(1, 2)))
    return Share(count=count, of=total, share=count / total, low=low, high=high)


def _interval(values: Sequence[float] | NDArray[np.float64]) -> tuple[float, float]:
    low, high = np.quantile(values, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return float(low), float(high)
