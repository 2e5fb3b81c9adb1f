"""Systems in pairs, against scipy and statsmodels and by enumeration."""

from itertools import product

import numpy as np
import pytest
from scipy.stats import binomtest
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests

from lmrbench.report.measures.comparison import compared, comparisons
from lmrbench.report.statistics import detectable_difference, holm, mcnemar_p, mcnemar_power, sign_flip_p


def test_one_answer_each_is_mcnemar_with_holm_over_all_pairs(grade):
    generator = np.random.default_rng(5)
    systems = {"golden": 1.0, "mask": 0.0, "nearest": 0.2, "one": 0.5, "other": 0.7}
    tasks = [f"p{number // 2}/{number}" for number in range(40)]
    passed = {system: generator.random(40) < chance for system, chance in systems.items()}
    grades = [
        grade(system, task, bool(ok)) for system in systems for task, ok in zip(tasks, passed[system], strict=True)
    ]

    found = comparisons(grades)

    assert len(found) == 10
    for item in found:
        one, other = passed[item.first], passed[item.second]
        table = [[np.sum(one & other), np.sum(one & ~other)], [np.sum(~one & other), np.sum(~one & ~other)]]
        assert [item.test, item.tasks, item.wins, item.losses] == ["McNemar", 40, int(table[0][1]), int(table[1][0])]
        assert item.p == pytest.approx(mcnemar(table, exact=True).pvalue)
        assert item.difference.mean == pytest.approx(one.mean() - other.mean())
        assert item.discordant == pytest.approx(np.mean(one != other))
    assert [item.p_holm for item in found] == pytest.approx(multipletests([item.p for item in found], method="holm")[1])
    # All tasks differ in the same way, so that drawing papers says nothing.
    assert (found[0].difference.mean, found[0].difference.low) == (1, None)


def test_mcnemar_is_the_sign_test_of_the_tasks_that_differ():
    assert mcnemar_p(9, 2) == pytest.approx(binomtest(9, 11).pvalue)
    assert mcnemar_p(0, 0) == 1
    # By hand: the smallest p of six tasks, 2 / 64, three times; the others by their ranks.
    assert holm([0.04, 2 / 64, 0.5]) == pytest.approx([0.09375, 0.09375, 0.5])
    assert holm([]) == []


def test_several_answers_flip_the_signs_of_papers(grade):
    shares = {"a/1": (3, 0), "a/2": (2, 1), "b/1": (3, 1), "c/1": (0, 1), "d/1": (2, 0)}
    grades = [
        grade(system, task, sample < passes[place], sample)
        for place, system in enumerate(("one", "other"))
        for task, passes in shares.items()
        for sample in range(3)
    ]

    (found,) = comparisons(grades)

    sums = [3 + 1, 2, -1, 2]
    flipped = [
        abs(sum(sign * value for sign, value in zip(signs, sums, strict=True))) for signs in product((1, -1), repeat=4)
    ]
    assert (found.test, found.wins, found.losses) == ("sign-flip", 4, 1)
    assert found.p == found.p_holm == pytest.approx(np.mean([value >= abs(sum(sums)) for value in flipped]))
    assert found.difference.mean == pytest.approx(sum(sums) / 3 / 5)
    assert found.difference.low is not None
    assert found.difference.high is not None
    assert found.difference.low < found.difference.mean < found.difference.high


def test_the_drawn_flips_of_many_papers_are_nearly_all_flips():
    values = {f"p{number}/x": value for number, value in enumerate([1] * 11 + [-1] * 4)}
    assert sign_flip_p(values) == pytest.approx(binomtest(11, 15).pvalue, abs=0.015)
    assert sign_flip_p(values) == sign_flip_p(values)


def test_what_can_not_be_compared_is_not_defined(grade):
    assert comparisons([grade("me", "a/one", True)]) == []
    apart = [grade("me", "a/one", True), grade("you", "b/one", True), grade("they", "a/one", False)]
    found = {(item.first, item.second): item for item in comparisons(apart)}
    nothing = found["me", "you"]
    assert (nothing.tasks, nothing.difference, nothing.p, nothing.p_holm, nothing.discordant) == (
        0,
        None,
        None,
        None,
        None,
    )
    assert found["me", "they"].p == found["me", "they"].p_holm == 1
    # Several answers, but to tasks of one paper: nothing to flip.
    (one_paper,) = comparisons(
        [grade(name, "a/one", name == "me", sample) for name in ("me", "you") for sample in (0, 1)]
    )
    assert (one_paper.difference.mean, one_paper.difference.low, one_paper.p, one_paper.p_holm) == (1, None, None, None)


def test_where_one_of_several_papers_differs_there_is_neither_an_interval_nor_a_test(grade):
    tasks = [f"p{number}/{task}" for number in range(5) for task in ("one", "other")]
    grades = [
        grade(system, task, system == "me" or paper != "p0")
        for system in ("me", "you")
        for task in tasks
        for paper in [task.partition("/")[0]]
    ]
    (found,) = comparisons(grades)
    assert found.one_differs
    assert (found.wins, found.losses, found.difference.mean) == (2, 0, pytest.approx(0.2))
    assert (found.difference.low, found.difference.high, found.p, found.p_holm) == (None, None, None, None)
    assert "|".join(compared(found)) == "10|+20.0|one paper differs|2/0|McNemar|not defined|not defined"
    # Two papers that differ are enough.
    (found,) = comparisons([grade(s, t, s == "me" or t[:2] not in ("p0", "p1")) for s in ("me", "you") for t in tasks])
    assert not found.one_differs
    assert found.p is not None


def test_power_is_how_often_the_test_rejects():
    generator = np.random.default_rng(1)
    tasks, discordant, difference = 28, 0.4, 0.3
    differing = generator.binomial(tasks, discordant, 4000)
    won = generator.binomial(differing, (1 + difference / discordant) / 2)
    rejected = np.mean([mcnemar_p(int(w), int(m - w)) <= 0.05 for w, m in zip(won, differing, strict=True)])
    assert mcnemar_power(tasks, discordant, difference) == pytest.approx(rejected, abs=0.03)
    # By hand: six tasks that all differ and that all are won, or all lost, are the least that p < 0.05 takes.
    assert mcnemar_power(6, 1, 0) == pytest.approx(2 / 64)
    assert mcnemar_power(6, 1, 1) == 1
    assert mcnemar_power(5, 1, 1) == 0


def test_the_smallest_difference_has_a_power_of_four_fifths():
    few, many = detectable_difference(28, 0.3), detectable_difference(100, 0.3)
    assert few is not None
    assert many is not None
    assert mcnemar_power(28, 0.3, few) == pytest.approx(0.8, abs=1e-3)
    assert many < few
    assert detectable_difference(28, 0.05) is None
    assert detectable_difference(0, 0.3) is None
