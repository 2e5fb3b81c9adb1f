"""Means of speeds, worked out by hand."""

import math

import pytest

from lmrbench.grading.records import Ratio, Timing
from lmrbench.report.measures.speed import speeds


def timed(grade, system, task, speed, sample=0):
    ratio = None if speed is None else Ratio(median=speed, low=speed / 2, high=speed * 2)
    return grade(system, task, True, sample).model_copy(update={"timing": Timing(speed=ratio, memory=ratio)})


def test_speeds_are_geometric_means_over_tasks_of_those_of_their_answers(grade):
    answers = [("a/x", 0.5, 0), ("a/x", 2.0, 1), ("b/y", 4.0, 0), ("b/z", 4.0, 0), ("b/z", None, 1)]
    grades = [timed(grade, "me", task, speed, sample) for task, speed, sample in answers]

    found = speeds([*grades, grade("me", "c/t", True), grade("you", "a/x", True)])

    assert found.keys() == {"me"}
    assert (found["me"].tasks, found["me"].answers, found["me"].void) == (3, 4, 1)
    # The tasks have 1, 4 and 4; all draws of papers lie between the papers' own means, 1 and 4.
    assert found["me"].speed.mean == pytest.approx(16 ** (1 / 3))
    assert (found["me"].speed.low, found["me"].speed.high) == pytest.approx((1, 4))
    assert found["me"].memory == found["me"].speed
    # As fast again is as far from 1 as half as fast.
    assert speeds([timed(grade, "me", f"{n}/t", s) for n, s in enumerate((0.5, 2.0))])["me"].speed.mean == 1


def test_a_system_whose_timed_answers_are_all_wrong_has_no_speed(grade):
    (found,) = speeds([timed(grade, "me", "a/x", None)]).values()
    assert (found.speed, found.memory, found.answers, found.void) == (None, None, 0, 1)


def test_one_paper_has_a_mean_and_no_interval(grade):
    (found,) = speeds([timed(grade, "me", "a/x", 3.0)]).values()
    assert (found.speed.low, found.speed.high) == (None, None)
    assert math.isclose(found.speed.mean, 3.0)
