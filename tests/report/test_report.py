"""Rates, failures and costs, with numbers worked out by hand."""

from pathlib import Path

import pytest

from lmrbench.records import grouped
from lmrbench.report.build import build
from lmrbench.report.combine import together
from lmrbench.report.measures.effort import costs
from lmrbench.report.measures.endings import statuses
from lmrbench.report.measures.failures import failures
from lmrbench.report.measures.rates import rate, rates
from lmrbench.runs.folder import read_run


def test_groups_and_what_is_in_them_keep_their_order():
    assert grouped("banana", str) == {"b": ["b"], "a": ["a"] * 3, "n": ["n"] * 2}
    assert list(grouped([3, 1, 2, 5], lambda number: number % 2)) == [1, 0]


def test_a_rate_is_a_mean_over_tasks_and_not_over_answers(grade, usage):
    grades = [grade("me", "a/one", True, sample) for sample in range(3)] + [grade("me", "a/two", False)]

    found = rate(grades, [usage("me", "a/two", "provider_error", 1)])

    assert (found.tasks, found.answers, found.passes, found.correct) == (2, 4, 3, 0.5)
    # Of the second task two samples, neither of which passed.
    assert (found.unanswered, found.correct_with_unanswered) == (1, 0.5)
    assert found.cases == pytest.approx((1 + 0.5) / 2)
    # Wilson's interval for 1 of 2.
    assert [found.low, found.high] == pytest.approx([0.0945, 0.9055], abs=1e-4)


def test_robust_answers_have_a_rate_beside_that_of_correct_ones(grade, usage):
    edge = grade("me", "a/two", True).model_copy(update={"robust": False})
    grades = [grade("me", "a/one", True), edge, grade("me", "b/one", False)]

    found = rates(grades, [usage("you", "a/one", "provider_error")], lambda task: task[0])

    assert (found["a"]["me"].correct, found["a"]["me"].robust) == (1, 0.5)
    assert (found["b"]["me"].correct, found["b"]["me"].robust) == (0, 0)
    assert found["a"]["you"].robust is None
    # An answer that fails edge cases alone is no failure.
    assert [(item.answers, item.example.task) for item in failures(grades)] == [(1, "b/one")]


def test_a_group_of_which_nothing_was_answered_has_no_rate(grade, usage):
    found = rates([grade("me", "a/one", True)], [usage("me", "b/one", "provider_error")], lambda task: task[0])
    assert found["a"]["me"].correct == 1
    assert found["b"]["me"].correct is None
    assert (found["b"]["me"].answers, found["b"]["me"].unanswered) == (0, 1)


def test_failures_are_counted_by_kind_with_one_example_each(grade):
    grades = [
        grade("me", "a/one", True),
        grade("me", "a/two", False),
        grade("me", "b/one", False, reason="another"),
        grade("me", "b/two", False, verdict="timeout", reason="took more than 4 s"),
        grade("you", "a/one", False),
    ]

    found = failures(grades)

    assert [(item.system, item.verdict, item.answers) for item in found] == [
        ("me", "mismatch", 2),
        ("me", "timeout", 1),
        ("you", "mismatch", 1),
    ]
    assert (found[0].example.task, found[0].example.reason) == ("a/two", "large: differs")


def test_costs_and_endings_are_of_all_samples(usage):
    usages = [
        usage("me", "a/one", "answered", dollars=0.25),
        usage("me", "a/two", "answered"),
        usage("me", "b/one", "limit"),
    ]
    cost = costs(usages)["me"]
    assert (cost.input_tokens, cost.output_tokens, cost.dollars, cost.seconds) == (300, 30, 0.25, 3.0)
    assert statuses(usages) == {"me": {"answered": 2, "limit": 1}}


def test_rates_leave_the_machinerys_failures_out_and_say_what_they_would_be(grade, usage):
    grades = [grade("me", f"a/{number}", number < 12) for number in range(15)]

    missing = [usage("me", "a/15", "provider_error")]
    found = rate(grades, missing)
    assert (found.passes, found.answers, found.correct) == (12, 15, 0.8)
    assert (found.correct_with_unanswered, found.correct_with_unanswered_right) == (0.75, 13 / 16)
    assert rate([], missing).correct is None


def test_in_the_method_tier_prompts_and_agents_are_reported_apart(grade, usage, write_run, tmp_path):
    tasks = ["dpo/preference_training", "dpo/preference_loss"]
    runs = []
    for setting in ("prompt", "agent"):
        grades = [grade("one", task, setting == "agent") for task in tasks]
        usages = [usage("one", task, "answered") for task in tasks]
        runs.append(read_run(Path(write_run(tmp_path / setting, grades, usages, model="one", setting=setting))))

    found = build(together(runs, None)).numbers["tiers"]

    assert {group: [*its["rates"]["all"]] for group, its in found.items()} == {
        "function": [f"one ({tmp_path / 'prompt'})", f"one ({tmp_path / 'agent'})"],
        "method-prompt": [f"one ({tmp_path / 'prompt'})"],
        "method-agent": [f"one ({tmp_path / 'agent'})"],
    }
    # A single setting needs no group of its own.
    assert list(build(together(runs[:1], None)).numbers["tiers"]) == ["function", "method"]
