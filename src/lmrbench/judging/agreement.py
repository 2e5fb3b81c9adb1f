"""Inter-rater agreement, with bootstrap intervals over papers.

Raters are people or judge models. They give each item (an answer to a task) one of the categories CC (completely
correct), LC (logic correct, implementation faulty) and LI (logic incorrect).

`agreement` compares two raters: shares, Cohen's kappa and a table of counts. `reliability` compares any number of
raters and allows missing labels: Fleiss' kappa and Krippendorff's alpha. A statistic that is not defined is None, with
a reason.

Answers of one paper are not independent, so the bootstrap resamples whole papers. Draws in which a statistic is not
defined are omitted. With a single paper there is no interval.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray
from statsmodels.stats.inter_rater import cohens_kappa, fleiss_kappa

from lmrbench.records import Record
from lmrbench.resampling import central_interval, paper_draws
from lmrbench.runs.records import CATEGORIES, OPPOSITES

# The scale with two categories: completely correct, or anything else.
BINARY = ("CC", "not CC")
ONE_PAPER = "there is only one paper"
ALL_ALIKE = "all resamples give the same value"


class Share(Record):
    """The share of items that have some property, with its bootstrap interval over papers.

    Attributes:
        count: Number of items with the property.
        of: Number of all items.
        share: `count / of`; None if there are no items.
        low: Lower end of the interval; None if there is no interval.
        high: Upper end of the interval; None if there is no interval.
    """

    count: int
    of: int
    share: float | None
    low: float | None
    high: float | None


class Agreement(Record):
    """Agreement of two raters on the same items.

    Attributes:
        same: The share of items to which both raters gave the same category.
        conflicts: The share of items that one rater labelled CC and the other LI.
        kappa: Cohen's kappa; None if there are no items, or if both raters gave all items the same category.
        kappa_low: Lower end of the interval of kappa; None if there is no interval.
        kappa_high: Upper end of the interval of kappa; None if there is no interval.
        table: Counts of items, with the first rater's categories as rows and the second's as columns.
        why: The reason why kappa or its interval is not defined, or "".
    """

    same: Share
    conflicts: Share
    kappa: float | None
    kappa_low: float | None
    kappa_high: float | None
    table: tuple[tuple[int, ...], ...]
    why: str = ""


class Statistic(Record):
    """A statistic with its interval.

    Attributes:
        value: The statistic; None if it is undefined.
        low: Lower end of the interval; None if there is no interval.
        high: Upper end of the interval; None if there is no interval.
        why: The reason why the statistic or its interval is undefined; "" if both are defined.
    """

    value: float | None
    low: float | None
    high: float | None
    why: str = ""


class Reliability(Record):
    """Agreement of any number of raters.

    Attributes:
        raters: Number of raters.
        items: Number of items with at least two labels.
        labels: Number of labels of these items.
        complete: Number of items that all raters labelled.
        fleiss: Fleiss' kappa (1971). It does not allow missing labels, so it covers only the complete items.
        alpha_nominal: Krippendorff's alpha (2011) over all items with at least two labels.
        alpha_ordinal: Krippendorff's alpha on an ordinal scale, where CC and LI differ more than CC and LC.
    """

    raters: int
    items: int
    labels: int
    complete: int
    fleiss: Statistic
    alpha_nominal: Statistic
    alpha_ordinal: Statistic


def binary(labels: Sequence[str]) -> list[str]:
    """Map labels to the scale `BINARY`."""
    return [BINARY[label != "CC"] for label in labels]


def agreement(
    first: Sequence[str],
    second: Sequence[str],
    papers: Sequence[str],
    scale: Sequence[str] = CATEGORIES,
    seed: int = 0,
) -> Agreement:
    """Compute the agreement of two raters.

    Args:
        first: The first rater's category for each item.
        second: The second rater's category for each item.
        papers: The paper of each item.
        scale: The categories, from best to worst.
        seed: Seed of the 2,000 bootstrap draws.

    Raises:
        ValueError: The lengths differ, or a label is not on the scale.
    """
    if not len(first) == len(second) == len(papers):
        raise ValueError("labels and papers differ in length")
    tables = _tables(first, second, papers, list(scale))
    whole = tables.sum(axis=0)
    ends = [place for place, name in enumerate(scale) if name in OPPOSITES]
    same = np.eye(len(scale), dtype=bool)
    conflicts = np.zeros_like(same)
    conflicts[np.ix_(ends, ends)] = True
    conflicts &= ~same
    drawn = _drawn(tables, seed)
    kappa = _kappa(whole)
    defined = [value for table in drawn if (value := _kappa(table)) is not None] if kappa is not None else []
    low, high = central_interval(defined) or (None, None)
    why = ""
    if not whole.sum():
        why = "no item was labelled by both raters"
    elif kappa is None:
        why = f"both raters labelled every item {scale[int(np.argmax(whole.diagonal()))]}"
    elif low is None:
        why = ONE_PAPER if len(tables) == 1 else ALL_ALIKE
    return Agreement(
        same=_share(whole, same, drawn),
        conflicts=_share(whole, conflicts, drawn),
        kappa=kappa,
        kappa_low=low,
        kappa_high=high,
        table=tuple(tuple(map(int, row)) for row in whole),
        why=why,
    )


def reliability(
    ratings: Sequence[Sequence[str | None]],
    papers: Sequence[str],
    scale: Sequence[str] = CATEGORIES,
    seed: int = 0,
) -> Reliability:
    """Compute the agreement of any number of raters.

    Args:
        ratings: For each item, the category that each rater gave it; None for a missing label.
        papers: The paper of each item.
        scale: The categories, from best to worst.
        seed: Seed of the 2,000 bootstrap draws.

    Raises:
        ValueError: The lengths differ, or a label is not on the scale.
    """
    if len(ratings) != len(papers) or len(set(map(len, ratings))) > 1:
        raise ValueError("ratings and papers differ in length")
    if strange := {label for row in ratings for label in row} - {*scale, None}:
        raise ValueError(f"{strange} is not on the scale")
    said = np.array([[list(row).count(name) for name in scale] for row in ratings], dtype=np.int64)
    said = said.reshape(len(ratings), len(scale))
    by_rater = list(zip(*ratings, strict=True))
    raters = sum(any(label is not None for label in labels) for labels in by_rater)
    several = said.sum(axis=1) >= 2
    complete = several & (said.sum(axis=1) == raters)
    names = np.array(papers, dtype=object)
    missing = "there is only one rater" if raters == 1 else "no item was labelled by two raters"
    partly = missing if not several.any() else f"no item was labelled by all {raters} raters"
    return Reliability(
        raters=raters,
        items=int(several.sum()),
        labels=int(said[several].sum()),
        complete=int(complete.sum()),
        fleiss=_statistic(said[complete], names[complete], _fleiss, scale, partly, seed),
        alpha_nominal=_statistic(said[several], names[several], partial(_alpha, ordinal=False), scale, missing, seed),
        alpha_ordinal=_statistic(said[several], names[several], partial(_alpha, ordinal=True), scale, missing, seed),
    )


def _statistic(
    said: NDArray[np.int64],
    papers: NDArray[np.object_],
    statistic: Callable[[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]], NDArray[np.float64]],
    scale: Sequence[str],
    missing: str,
    seed: int,
) -> Statistic:
    """Compute a statistic and its interval.

    Args:
        said: Counts of labels, of shape (items, categories).
        papers: The paper of each item.
        statistic: A function that takes the counts, the index of each item's paper, of shape (items,), and the number
            of times that each draw contains each paper, of shape (draws, papers). It returns the value for each draw,
            or NaN if it is undefined.
        scale: The categories, from best to worst.
        missing: The reason to give if there are no items.
        seed: Seed of the bootstrap draws.
    """
    if not len(said):
        return Statistic(value=None, low=None, high=None, why=missing)
    used = np.flatnonzero(said.sum(axis=0))
    if len(used) == 1:
        return Statistic(value=None, low=None, high=None, why=f"every label is {scale[used[0]]}")
    names, of_items = np.unique(papers.astype(str), return_inverse=True)
    (value,) = statistic(said, of_items, np.ones((1, len(names)), dtype=np.int64))
    drawn = statistic(said, of_items, paper_draws(len(names), seed))
    low, high = central_interval(drawn[np.isfinite(drawn)]) or (None, None)
    why = "" if low is not None else ONE_PAPER if len(names) == 1 else ALL_ALIKE
    return Statistic(value=float(value), low=low, high=high, why=why)


def _fleiss(said: NDArray[np.int64], of_items: NDArray[np.int64], draws: NDArray[np.int64]) -> NDArray[np.float64]:
    drawn = (np.repeat(said, counts[of_items], axis=0) for counts in draws)
    return np.array([fleiss_kappa(table) if np.count_nonzero(table.any(axis=0)) > 1 else np.nan for table in drawn])


def _alpha(
    said: NDArray[np.int64], of_items: NDArray[np.int64], draws: NDArray[np.int64], ordinal: bool
) -> NDArray[np.float64]:
    """Return Krippendorff's alpha, 1 - D_o / D_e, for each draw.

    D_o is the mean distance between two labels of the same item, and D_e the mean distance between any two labels.
    """
    # The coincidence matrix of each paper, of shape (papers, categories, categories). It counts the pairs of labels of
    # each item, weighted by 1 / (number of the item's labels - 1).
    together = np.zeros((draws.shape[1], said.shape[1], said.shape[1]))
    of_item = said[:, :, None] * said[:, None, :] - np.einsum("ic,cd->icd", said, np.eye(said.shape[1]))
    np.add.at(together, of_items, of_item / (said.sum(axis=1) - 1)[:, None, None])
    drawn = np.tensordot(draws, together, axes=1)
    totals = drawn.sum(axis=2)
    distances = np.broadcast_to(1 - np.eye(said.shape[1]), drawn.shape)
    if ordinal:
        # The ordinal distance of two categories is the squared difference of the mean ranks of their labels.
        middles = np.cumsum(totals, axis=1) - totals / 2
        distances = (middles[:, :, None] - middles[:, None, :]) ** 2
    observed = (drawn * distances).sum(axis=(1, 2))
    expected = np.einsum("dc,dce,de->d", totals, distances, totals) / (totals.sum(axis=1) - 1)
    ratio: NDArray[np.float64] = np.divide(observed, expected, out=np.full_like(observed, np.nan), where=expected > 0)
    return 1 - ratio


def _tables(first: Sequence[str], second: Sequence[str], papers: Sequence[str], scale: list[str]) -> NDArray[np.int64]:
    """Return a table of counts for each paper, of shape (papers, categories, categories)."""
    places = {name: place for place, name in enumerate(dict.fromkeys(papers))}
    tables = np.zeros((len(places), len(scale), len(scale)), dtype=np.int64)
    for one, other, paper in zip(first, second, papers, strict=True):
        tables[places[paper], scale.index(one), scale.index(other)] += 1
    return tables


def _drawn(tables: NDArray[np.int64], seed: int) -> NDArray[np.int64]:
    """Return the sum of the papers' tables in each bootstrap draw, of shape (draws, categories, categories)."""
    drawn: NDArray[np.int64] = np.tensordot(paper_draws(len(tables), seed), tables, axes=1)
    return drawn


def _kappa(table: NDArray[np.int64]) -> float | None:
    # With a single category, chance agreement is 1 and kappa is not defined.
    if np.count_nonzero(table.sum(axis=0) + table.sum(axis=1)) < 2:
        return None
    return float(cohens_kappa(table, return_results=False))


def _share(whole: NDArray[np.int64], chosen: NDArray[np.bool_], drawn: NDArray[np.int64]) -> Share:
    count, total = int(whole[chosen].sum()), int(whole.sum())
    if not total:
        return Share(count=0, of=0, share=None, low=None, high=None)
    low, high = central_interval(drawn[:, chosen].sum(axis=1) / drawn.sum(axis=(1, 2))) or (None, None)
    return Share(count=count, of=total, share=count / total, low=low, high=high)
