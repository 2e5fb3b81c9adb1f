"""Intervals that come from drawing papers."""

import numpy as np
import pytest
from scipy.stats import bootstrap

from lmrbench.report.measures.rates import rate
from lmrbench.report.statistics import estimate, paper_interval


def test_the_interval_is_that_of_scipy_which_draws_papers():
    generator = np.random.default_rng(3)
    sizes = generator.integers(1, 5, 25)
    values = {
        f"p{paper}/{task}": float(generator.random() < (0.9 if paper % 2 else 0.3))
        for paper, size in enumerate(sizes)
        for task in range(size)
    }
    sums = [sum(values[f"p{paper}/{task}"] for task in range(size)) for paper, size in enumerate(sizes)]
    theirs = bootstrap(
        (np.array(sums), sizes),
        lambda x, n, axis: x.sum(axis=axis) / n.sum(axis=axis),
        paired=True,
        method="percentile",
        n_resamples=20_000,
        rng=generator,
    ).confidence_interval

    found = estimate(values)

    assert found.mean == pytest.approx(sum(sums) / sizes.sum())
    assert (found.low, found.high) == pytest.approx((theirs.low, theirs.high), abs=0.02)
    assert paper_interval(values) == paper_interval(values)


def test_tasks_of_a_paper_are_drawn_together():
    # Two papers: the mean over drawn papers is 0, 1/2 or 1, however many tasks each has.
    assert paper_interval({f"{paper}/{task}": float(paper == "a") for paper in "ab" for task in range(50)}) == (0, 1)


@pytest.mark.parametrize("values", [{"a/1": 0.0, "a/2": 1.0}, {"a/1": 1.0, "b/1": 1.0}, {}], ids=str)
def test_there_is_no_interval_of_one_paper_and_none_where_all_tasks_are_alike(values):
    assert paper_interval(values) is None


def test_a_rate_has_both_intervals_and_a_bracket_for_what_was_left_unanswered(grade, usage):
    grades = [grade("me", "a/one", True), grade("me", "a/two", False), grade("me", "b/one", True)]

    found = rate(grades, [usage("me", "b/one", "machine_error", 1), usage("me", "b/two", "provider_error")])

    assert (found.tasks, found.papers) == (3, 2)
    # a alone gives 1/2, b alone 1, and each of them is drawn twice in a quarter of all draws.
    assert (found.paper_low, found.paper_high) == (0.5, 1)
    # Of four tasks: 1, 0, one of two, none of one.
    assert found.correct_with_unanswered == pytest.approx((1 + 0 + 1 / 2 + 0) / 4)
    assert found.correct_with_unanswered_right == pytest.approx((1 + 0 + 1 + 1) / 4)
