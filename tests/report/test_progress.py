"""When answers were first right, worked out by hand."""

import pytest

from lmrbench.report.measures.progress import curves, first_right


def test_medians_are_of_the_answers_that_pass_from_the_first_right_state_on(snapshot):
    snapshots = [
        # Right at turn 2, spoiled, right again: it was first right at turn 2.
        *(snapshot(2, 4), snapshot(3, 1), snapshot(5, 4), snapshot(6, 4)),
        # Right with its last turn.
        snapshot(7, 4, "a/two"),
        # Right at turn 3, and left alone until turn 4.
        *(snapshot(3, 4, "b/one"), snapshot(4, 4, "b/one")),
        # Right once, and spoiled; and never right.
        *(snapshot(1, 4, "b/two"), snapshot(9, 3, "b/two")),
        snapshot(9, 3, "b/three"),
    ]

    found = first_right(snapshots)["me"]

    assert (found.answers, found.passes, found.spoiled) == (5, 3, 1)
    # Until: 2, 7 and 3 turns. After: 4, 0 and 1.
    assert found.until.model_dump() == pytest.approx(
        {"turns": 3, "tool_calls": 6, "input_tokens": 270, "output_tokens": 30, "minutes": 1.5, "dollars": 1.5}
    )
    assert found.after.model_dump() == pytest.approx(
        {"turns": 1, "tool_calls": 2, "input_tokens": 90, "output_tokens": 10, "minutes": 0.5, "dollars": 0.5}
    )


def test_what_is_not_known_or_not_defined_is_none(snapshot):
    unpriced = first_right([snapshot(2, 4), snapshot(3, 4, "a/two", price=None)])["me"]
    assert (unpriced.until.turns, unpriced.until.dollars, unpriced.after.dollars) == (2.5, None, None)
    spoiled = first_right([snapshot(2, 4), snapshot(3, 0)])["me"]
    assert (spoiled.passes, spoiled.spoiled, spoiled.until, spoiled.after) == (0, 1, None, None)
    assert first_right([]) == {}
    assert curves([]) == {}


def test_a_curve_begins_with_nothing_keeps_what_has_ended_and_counts_each_task_once(snapshot):
    snapshots = [
        *(snapshot(1, 2), snapshot(2, 4)),
        *(snapshot(2, 1, "a/two"), snapshot(4, 1, "a/two")),
        snapshot(3, 3, "a/two", sample=1),
        snapshot(1, 4, system="you"),
    ]

    found = curves(snapshots)

    assert found["me"] == pytest.approx([0, 0.25, (1 + 0.125) / 2, (1 + 0.5) / 2, (1 + 0.5) / 2])
    assert found["you"] == [0, 1]
