"""Grades, usages and snapshots for tests of analyses."""

import pytest

from lmrbench.grading.records import CaseVerdict, Grade, Snapshot, Usage


@pytest.fixture
def grade():
    """Makes a grade of one case that matches, and, where it did not pass, of one that does not."""
    return _grade


@pytest.fixture
def usage():
    """Makes the usage of one sample."""
    return _usage


@pytest.fixture
def snapshot():
    """Makes a snapshot with so many of four cases right; each turn took 100 tokens, two tool calls and 30 seconds."""
    return _snapshot


def _grade(system, task, passed, sample=0, verdict="mismatch", reason="differs"):
    cases = [CaseVerdict(seed=1, case=0, name="small", verdict="match")]
    if not passed:
        cases.append(CaseVerdict(seed=1, case=1, name="large", verdict=verdict, reason=reason))
    return Grade(
        system=system,
        task=task,
        sample=sample,
        label="",
        category=task.partition("/")[0],
        passed=passed,
        cases=tuple(cases),
        seconds=1.0,
        peak_mb=0.0,
        warnings=(),
        log="",
        candidate_digest="",
        task_digest="",
        seeds=(1,),
        sandbox="process",
        environment="",
    )


def _usage(system, task, status, sample=0, dollars=None):
    return Usage(
        system=system,
        task=task,
        sample=sample,
        status=status,
        detail="",
        calls=1,
        input_tokens=100,
        output_tokens=10,
        dollars=dollars,
        seconds=3.0,
        limit="",
        cut=(),
    )


def _snapshot(turn, matched, task="a/one", sample=0, system="me", price=0.5):
    return Snapshot(
        system=system,
        task=task,
        sample=sample,
        turn=turn,
        input_tokens=90 * turn,
        output_tokens=10 * turn,
        tool_calls=2 * turn,
        seconds=30.0 * turn,
        dollars=None if price is None else price * turn,
        matched=matched,
        cases=4,
        passed=matched == 4,
    )
