"""What a passing answer takes, worked out by hand."""

import pytest

from lmrbench.report.measures.effort import effort


def test_the_failed_ones_are_counted_in_and_the_unanswered_are_not(grade, usage):
    grades = [grade("me", "a/one", True), grade("me", "a/two", False), grade("me", "b/one", True)]
    usages = [
        usage("me", "a/one", "answered", dollars=0.25),
        usage("me", "a/two", "limit", dollars=0.75),
        usage("me", "b/one", "answered", dollars=0.5),
        usage("me", "b/two", "provider_error", dollars=9.0),
    ]

    found = effort(grades, usages)["me"]

    assert (found.passes, found.answers, found.dollars, found.dollars_per_answer) == (2, 3, 0.75, 0.5)
    assert (found.input_tokens, found.output_tokens, found.calls) == (150, 15, 1.5)
    assert found.minutes == pytest.approx(3 * 3.0 / 60 / 2)


def test_what_is_not_known_is_none_and_no_smaller_sum(grade, usage):
    usages = [usage("me", "a/one", "answered", dollars=1.0), usage("me", "a/two", "answered")]
    found = effort([grade("me", "a/one", True), grade("me", "a/two", True)], usages)["me"]
    assert (found.dollars, found.input_tokens) == (None, 100)

    nothing_passes = effort([grade("me", "a/one", False)], usages)["me"]
    assert (nothing_passes.passes, nothing_passes.input_tokens, nothing_passes.dollars) == (0, None, None)
    assert effort([grade("golden", "a/one", True)], ()) == {}
