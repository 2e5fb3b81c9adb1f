"""An answer is correct if all ordinary cases match, and robust if the edge cases match too."""

import json

import pytest
from tests.edges import EDGE_NAME, PLAIN, edge_suite, rewrite, wrong
from tests.graded import graded
from tests.running import lmrbench
from tests.runs.examples import grade

from lmrbench.errors import TaskError
from lmrbench.grading.records import Result
from lmrbench.grading.systems import unexpected
from lmrbench.records import SCHEMA, read_record
from lmrbench.report.sheets.grading import failed_cases_sheet, failures_sheet
from lmrbench.runs.index import GradeHead
from lmrbench.runs.pack import Claim
from lmrbench.runs.verify import Verification
from lmrbench.sandbox.pool import LocalPool
from lmrbench.sandbox.registry import make_sandbox
from lmrbench.tasks.loading import load_suite
from lmrbench.tasks.submission import Submission
from lmrbench.tasks.wrong import breaks_only_edge_cases

pytestmark = pytest.mark.sandbox

UNSCALED = PLAIN.replace("self.scale * ", "")
WRONG_FOR_TWO = PLAIN.replace("return ", "return 0.0 if not values else 1.0 if len(values) == 2 else ")


@pytest.fixture(scope="module")
def suite(tmp_path_factory):
    return edge_suite(tmp_path_factory.mktemp("edges") / "suite")


@pytest.fixture(scope="module")
def pool(suite):
    with LocalPool(make_sandbox("bubblewrap", [suite]), size=1) as pool:
        yield pool


def grades_of(suite, pool, *codes, seeds=(0, 1), **conditions):
    tasks = {task.id: task for task in load_suite(suite)}
    submissions = [Submission(system="me", task="toy/blend", sample=n, code=code) for n, code in enumerate(codes)]
    return sorted(graded(submissions, tasks, seeds, pool, **conditions), key=lambda item: item.sample)


@pytest.mark.parametrize("fail_fast", [False, True])
def test_an_answer_that_fails_an_edge_case_alone_is_correct_and_not_robust(suite, pool, fail_fast):
    plain, unscaled = grades_of(suite, pool, PLAIN, UNSCALED, fail_fast=fail_fast)

    assert (plain.correct, plain.robust, plain.word) == (True, False, "correct, not robust")
    names = ["1 values", "2 values", "5 values", EDGE_NAME]
    assert [(case.name, case.edge) for case in plain.cases] == [(name, name == EDGE_NAME) for name in names] * 2
    assert [case.verdict for case in plain.cases] == ["match", "match", "match", "error"] * 2
    assert plain.first_failure.name == EDGE_NAME
    assert (unscaled.correct, unscaled.robust, unscaled.word) == (False, False, "not correct")
    assert [case.verdict for case in unscaled.cases[1:4]] == ["missing" if fail_fast else "mismatch"] * 2 + [
        "missing" if fail_fast else "error"
    ]


def test_the_share_counts_ordinary_cases_alone(suite, pool):
    plain, wrong_for_two = grades_of(suite, pool, PLAIN, WRONG_FOR_TWO)

    assert plain.share == 1
    assert (wrong_for_two.share, wrong_for_two.matched) == (2 / 3, 6)
    assert not wrong_for_two.correct


def test_the_first_failure_is_that_of_an_ordinary_case():
    verdicts = ("match", "mismatch", "mismatch")
    assert grade(verdicts=verdicts, edge=(1,)).first_failure.case == 2
    assert grade(verdicts=verdicts, edge=(1, 2)).first_failure.case == 1
    assert grade(verdicts=("match",)).first_failure is None


def test_tables_say_that_a_failed_case_is_an_edge_case():
    edge, wrong = grade("edge", verdicts=("match", "mismatch"), edge=(1,)), grade("wrong")

    table = failures_sheet([Result.of(edge), Result.of(wrong), Result.of(grade(verdicts=("match",)))], [])
    assert [row[-1].partition(":")[0] for row in table.rows] == ["edge case case 1", "case 1"]
    assert [row[1] for item in (edge, wrong) for row in failed_cases_sheet(item).rows] == ["edge", "ordinary"]


def test_a_check_of_edge_cases_alone_is_the_tasks_fault(tmp_path, pool):
    suite = edge_suite(tmp_path / "suite")
    check = suite / "toy" / "checks" / "blend.py"
    check.write_text(check.read_text().replace('"edge": count == 0', '"edge": True'))

    with pytest.raises(TaskError, match="toy/blend: the check draws no ordinary case with seed 3"):
        grades_of(suite, pool, PLAIN, seeds=(3,))


def built_in(suite, tmp_path):
    options = ("--rewrites", "--wrong", "--seed", 0, "--suite", suite, "--out", tmp_path / "run")
    return lmrbench("--quiet", "grade", *options)


def test_plain_may_be_correct_alone_and_a_wrong_version_too_if_it_breaks_edge_cases_alone(tmp_path):
    suite = edge_suite(tmp_path / "suite")
    result = built_in(suite, tmp_path)
    assert (result.returncode, result.stderr) == (0, "")
    rows = [line.split() for line in result.stdout.splitlines()]
    # Of the wrong versions, two are not correct and one is.
    assert ["toy/blend", "2/2", "1/3"] in [row[:3] for row in rows]
    assert ["all", "100.0%", "33.3%"] in [row[:3] for row in rows]
    assert ["all,", "robust", "50.0%", "0.0%"] in rows

    rewrite(suite, "short", "Needs a value, too.")
    wrong(suite, "short", "Needs a value, too.")
    result = built_in(suite, tmp_path)
    assert result.returncode == 1
    assert result.stderr.splitlines() == [
        "lmrbench: toy/blend: rewrites short: correct, not robust; expected correct and robust",
        "lmrbench: toy/blend: wrong short: correct, not robust; expected not correct",
    ]


@pytest.mark.parametrize(
    ("system", "label", "verdicts", "message"),
    [
        ("rewrites", "plain", ("mismatch", "match"), "rewrites plain: not correct; expected correct"),
        ("rewrites", "plain", ("match", "mismatch"), None),
        ("rewrites", "loop", ("match", "mismatch"), "rewrites loop: correct, not robust; expected correct and robust"),
        ("golden", "", ("match", "mismatch"), "golden: correct, not robust; expected correct and robust"),
        ("mask", "", ("match", "mismatch"), "mask: correct, not robust; expected not correct"),
        ("wrong", "empty", ("match", "mismatch"), None),
        ("wrong", "empty", ("match", "match"), "wrong empty: correct and robust; expected not robust"),
        ("wrong", "unscaled", ("mismatch", "match"), None),
        ("nearest", "", ("match", "match"), None),
    ],
)
def test_what_the_grade_of_a_built_in_system_must_be(suite, system, label, verdicts, message):
    tasks = {task.id: task for task in load_suite(suite)}
    result = Result.of(grade(system, verdicts=verdicts, edge=(1,), label=label))

    assert unexpected([result], [system], tasks) == ([f"toy/blend: {message}"] if message else [])
    assert unexpected([result], [], tasks) == []


@pytest.mark.parametrize(
    ("text", "edge"),
    [
        ('"""Edge: an empty list."""\n', True),
        ("\n'''Edge: an empty list.'''\n", True),
        ('"""Edges are forgotten."""\n', False),
        ('"""Forgets the scale. Edge: none."""\n', False),
    ],
)
def test_the_docstring_of_a_wrong_version_says_whether_it_breaks_edge_cases_alone(text, edge):
    assert breaks_only_edge_cases(text) is edge


@pytest.mark.parametrize("passed", [True, False])
def test_what_passed_before_there_were_edge_cases_is_correct_and_robust(passed):
    new = grade(verdicts=("match" if passed else "mismatch",))
    values = new.model_dump(exclude={"correct", "robust"}) | {"passed": passed, "schema_version": 3}
    for case in values["cases"]:
        del case["edge"]
    assert read_back(values, type(new)) == new

    key = {"system": "me", "task": "toy/blend", "sample": 0, "passed": passed, "schema_version": 3}
    claim = read_back(key, Claim)
    head = read_back({**key, "label": "", "category": ""}, GradeHead)
    assert (claim.correct, claim.robust) == (head.correct, head.robust) == (passed, passed)
    assert head.schema_version == claim.schema_version == SCHEMA


def test_a_verification_from_before_there_were_edge_cases_is_read():
    texts = ("pack", "lmrbench", "suite", "suite_digest", "sandbox", "claimed_lmrbench", "claimed_suite_digest")
    counts = {"answers": 3, "claimed_passed": 2, "passed": 1, "differ": 1, "schema_version": 3}
    found = read_back({**dict.fromkeys(texts, ""), "seeds": (1,), "fresh_seeds": True, **counts}, Verification)

    assert (found.claimed_correct, found.claimed_robust, found.correct, found.robust) == (2, 2, 1, 1)


def read_back(values, model):
    return read_record(json.dumps(values).encode(), model, "here")
