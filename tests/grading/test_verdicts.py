"""Verdicts on what a sandbox reports, also on what no reference has a case for."""

import pytest

from lmrbench.grading.observe import ReferenceOutputs
from lmrbench.grading.verdicts import JobVerdicts
from lmrbench.sandbox.inside.encoding import encode
from lmrbench.sandbox.protocol import CaseOutcome, Outcome
from lmrbench.tasks.loading import load_suite


@pytest.fixture
def task(toy_suite):
    return load_suite(toy_suite)[0]


def verdicts(task, *values, fail_fast=False):
    """The verdicts on a job whose reference returned these values."""
    count = len(values)
    outputs = ReferenceOutputs(
        names=("",) * count,
        cases=b"",
        observations=tuple(map(encode, values)),
        case_seconds=(0.0,) * count,
        seconds=0.0,
        given=(False,) * count,
    )
    return JobVerdicts(task, 0, outputs, fail_fast)


def observed(*values):
    return Outcome(tuple(CaseOutcome("observed", encode(value)) for value in values))


def test_a_case_that_no_reference_has_never_ends_a_job(task):
    judge = verdicts(task, 1, 2, fail_fast=True)

    assert [judge.fails(number, case) for number, case in enumerate(observed(1, 3, 4).cases)] == [False, True, False]


@pytest.mark.parametrize("fail_fast", [False, True])
def test_further_cases_of_a_candidate_change_nothing(task, fail_fast):
    assert [case.verdict for case in verdicts(task, 1, 2, fail_fast=fail_fast).of(observed(1, 2, 7))] == ["match"] * 2


def test_the_last_run_of_a_case_counts(task):
    judge = verdicts(task, 1, fail_fast=True)

    assert judge.fails(0, CaseOutcome("timeout"))
    assert [case.verdict for case in judge.of(observed(1))] == ["match"]
