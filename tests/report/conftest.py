"""Grades, usages, snapshots, votes and labels for tests of analyses, and run folders that hold them."""

import json
from pathlib import Path

import pytest

from lmrbench.grading.records import CaseVerdict, Grade
from lmrbench.models.settings import Settings
from lmrbench.runs.records import Judgement, Label, RunFacts, Snapshot, Usage

STORED = Path(__file__).parents[1] / "stored" / "schema_1"


@pytest.fixture(scope="session")
def grade():
    """Makes a grade of one case that matches, and, where it did not pass, of one that does not."""
    return _grade


@pytest.fixture(scope="session")
def usage():
    """Makes the usage of one sample."""
    return _usage


@pytest.fixture(scope="session")
def snapshot():
    """Makes a snapshot with so many of four cases right; each turn took 100 tokens, two tool calls and 30 seconds."""
    return _snapshot


@pytest.fixture(scope="session")
def vote():
    """Makes a vote of a judge, like the stored one; refused where there is no category."""
    return _vote


@pytest.fixture(scope="session")
def label():
    """Makes a label of an annotator."""
    return _label


@pytest.fixture(scope="session")
def write_run():
    """Writes a run folder, and gives its name. settings: of the model that was asked, if one was."""
    return _write_run


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
        correct=passed,
        robust=passed,
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
        correct=matched == 4,
    )


def _vote(system, task, category, error_class=None, judge="j", number=0, sample=0):
    named = {"system": system, "task": task, "sample": sample, "judge": judge, "vote": number}
    error_class = None if category in (None, "CC") else error_class or "policy"
    said = {"category": category, "error_class": error_class, "status": "judged" if category else "refused"}
    return Judgement(**{**json.loads((STORED / "judgements.jsonl").read_text()), **named, **said})


def _label(system, task, category, error_class=None, annotator="ann", sample=0):
    return Label(
        system=system, task=task, sample=sample, annotator=annotator, category=category, error_class=error_class
    )


def _write_run(folder, grades, usages=(), votes=(), snapshots=(), **settings):
    folder.mkdir()
    for name, items in (("grades", grades), ("usage", usages), ("judgements", votes), ("progress", snapshots)):
        (folder / f"{name}.jsonl").write_text("".join(item.model_dump_json() + "\n" for item in items))
    if settings:
        facts = RunFacts(
            lmrbench="0",
            suite_digest="",
            tasks=(),
            seeds=(1,),
            sandbox="process",
            environment={},
            solving=Settings(**settings).recorded(),
        )
        (folder / "run.json").write_text(facts.model_dump_json())
    return str(folder)
