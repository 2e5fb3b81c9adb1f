"""The audit of methods: their workspace and check, and whether a solver can know what the check asks for."""

import json
from dataclasses import replace

import pytest
from tests.graded import graded
from typer.testing import CliRunner

from lmrbench.authoring.audit.certificate import read_certificate
from lmrbench.authoring.audit.laboratory import PATIENT
from lmrbench.authoring.audit.suite import audited, renewed
from lmrbench.authoring.audit.tiers import audit_of_tier
from lmrbench.authoring.audit.visibility import visibility
from lmrbench.cli import app
from lmrbench.errors import TaskError
from lmrbench.grading.systems import submissions_of
from lmrbench.sandbox.pool import LocalPool
from lmrbench.sandbox.protocol import CaseOutcome
from lmrbench.solving.prompts import prompt_message
from lmrbench.tasks.loading import load_suite
from lmrbench.tasks.selection import select
from lmrbench.tasks.workspace import workspace_files

pytestmark = pytest.mark.sandbox

EXPERIMENT = '''
"""Blends random values."""

from random import Random

from blending import Blender


def run(seed: int = 0) -> dict[str, float]:
    """Two blends."""
    draws = Random(seed)
    values = [draws.random() for _ in range(6)]
    return {"first": Blender(2.0).blend(values), "second": Blender(3.0).blend(values[1:])}
'''
TASK = """
[[task]]
name = "blending"
tier = "method"
category = "evaluation_metrics"
targets = ["blending.py::Blender.blend", "weighting.py::weights"]
instruction = "Implement both functions. An empty list gives 0.0."
check = "checks/blend.py"
"""
POOL = """
[deviation.from_zero]
stage = "blends"
file = "weighting.py"
why = "Weights from zero."
allowed_by = "The paper does not say."
old = "    return [float(position + 1) for position in range(count)]"
new = "    return [float(position) for position in range(count)]"
[deviation.fewer]
stage = "values"
file = "experiment.py"
why = "Fewer values."
allowed_by = "The paper does not say."
old = "    values = [draws.random() for _ in range(6)]"
new = "    values = [draws.random() for _ in range(5)]"
"""


@pytest.fixture
def paper(paper):
    """The toy paper with a task of its whole method, and its logged results."""
    (paper / "repo" / "experiment.py").write_text(EXPERIMENT)
    (paper / "task.toml").write_text((paper / "task.toml").read_text() + TASK)
    (paper / "deviations.toml").write_text(POOL)
    done = CliRunner().invoke(app, ["task", "results", "toy", "--suite", str(paper.parent)])
    assert done.exit_code == 0, done.output
    return paper


def method(paper):
    [task] = select(load_suite(paper.parent), [], "method")
    return task


def test_a_solver_sees_what_the_whole_repository_logged_and_none_of_the_functions(paper):
    files = workspace_files(method(paper), "full")

    results = json.loads(files["results.json"])
    assert results.keys() == {"0", "1", "2"}
    assert results["0"].keys() == {"first", "second"}
    assert all(0 < value < 3 for metrics in results.values() for value in metrics.values())
    assert "replay.py" in files
    code = files["repo/blending.py"] + files["repo/weighting.py"]
    assert code.count(b"raise NotImplementedError") == 2
    assert "`results.json` holds what `run(seed)`" in files["instruction.md"].decode()


def test_answers_are_graded_by_the_experiment_too_and_a_deviation_of_a_masked_function_is_a_wrong_version(paper, pool):
    task = method(paper)

    # That of the experiment is in no masked function, and another task's.
    assert "deviation_from_zero" in task.files.wrong
    assert "deviation_fewer" not in task.files.wrong
    systems = [*submissions_of("golden", [task]), *submissions_of("wrong", [task])]
    grades = list(graded(systems, {task.id: task}, [0], pool))
    assert {(item.system, item.correct) for item in grades} == {("golden", True), ("wrong", False)}
    names = [case.name for case in grades[0].cases]
    assert [name for name in names if name.startswith("experiment")] == ["experiment, seed 3", "experiment, seed 4"]


def test_what_neither_results_nor_a_sentence_decide_is_a_shortfall(paper, pool):
    task = method(paper)

    found = audit_of_tier(task, range(2), pool)

    visible = found.visible
    assert visible is not None
    assert visible.results_hold
    # What an empty list gives shows in no result.
    assert visible.shown > 0
    assert any("return 0.0" in item.diff for item in visible.undecided)
    assert visible.rejected == found.mutation.rejected == visible.shown + visible.decided + len(visible.undecided)
    assert (
        "number of rejected mutants that neither change the logged results nor violate a sentence of the "
        f"task's texts: {len(visible.undecided)}" in found.shortfalls
    )
    assert any(text.startswith("too little is masked (functions: 2, ") for text in found.shortfalls)

    (paper / "decided").mkdir()
    ids = [item.id for item in visible.undecided]
    (paper / "decided" / "blending.toml").write_text(f'"An empty list gives 0.0." = {json.dumps(ids)}\n')
    again = audit_of_tier(method(paper), range(2), pool).visible
    assert again is not None
    assert (again.decided, again.undecided) == (len(ids), ())
    assert again.sentences == {"text": ("An empty list gives 0.0.",)}


ONLY_LOGS = 'only_logs = ["`weights` counts from one."]\n'


def test_only_a_prompt_states_what_only_the_results_tell(paper, pool):
    file, told = paper / "task.toml", "## Facts that only the logged results reveal\n\n- `weights` counts from one."
    list(audited([method(paper)], 1, pool, lambda *_: None, write=True))
    file.write_text(file.read_text() + ONLY_LOGS)
    task = method(paper)

    assert prompt_message(task, "full", "summary", 10**6).text.count(told) == 1
    assert b"counts from one" not in workspace_files(task, "full")["instruction.md"]
    # The certificate lists it, and nothing has to run again.
    [renewed_one] = renewed([task], 1).values()
    assert renewed_one.visible is not None
    assert renewed_one.visible.only_logs == ("`weights` counts from one.",)
    assert read_certificate(task) == renewed_one


def test_a_single_function_has_no_logged_results(paper):
    file = paper / "task.toml"
    file.write_text(file.read_text().replace('tier = "method"\n', ONLY_LOGS))

    with pytest.raises(TaskError, match=r"task\[1\].only_logs: only method tasks have logged results"):
        load_suite(paper.parent)


class BusyPool(LocalPool):
    """A pool on a machine so busy that whatever has little time runs out of it."""

    def run(self, jobs):
        for number, outcome in super().run(jobs):
            if jobs[number].case_seconds and max(jobs[number].case_seconds) < PATIENT:
                outcome = replace(outcome, cases=tuple(CaseOutcome("timeout") for _ in outcome.cases))
            yield number, outcome


def test_a_busy_machine_shows_no_more_than_a_quiet_one(paper, pool):
    task = method(paper)
    found = audit_of_tier(task, range(1), pool)

    with BusyPool(pool.sandbox) as busy:
        assert visibility(task, found.mutation, busy) == found.visible
    assert found.visible.undecided


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ('"Nobody says this." = []\n', "docstring contains 'Nobody says this.'"),
        ('"Implement both functions." = ["0123456789ab"]\n', "there is no mutant 0123456789ab"),
        ('"Implement both functions." = "all"\n', "expected a list of mutant ids"),
    ],
)
def test_a_table_of_decided_mutants_that_is_not_true_is_refused(paper, pool, table, said):
    (paper / "decided").mkdir()
    (paper / "decided" / "blending.toml").write_text(table)

    with pytest.raises(TaskError, match=said):
        audit_of_tier(method(paper), range(1), pool)


def test_a_certificate_is_not_renewed_when_a_sentence_that_decides_a_mutant_has_gone(paper, pool):
    (paper / "decided").mkdir()
    (paper / "decided" / "blending.toml").write_text('"An empty list gives 0.0." = []\n')
    list(audited([method(paper)], 1, pool, lambda *_: None, write=True))
    file = paper / "task.toml"
    text = file.read_text()
    assert "Implement both functions. An empty list gives 0.0." in text

    file.write_text(text.replace("Implement both functions. An empty", "Write both functions. An empty"))
    assert list(renewed([method(paper)], 1)) == ["toy/blending"]
    file.write_text(text.replace(" An empty list gives 0.0.", ""))
    with pytest.raises(TaskError, match=r"docstring contains 'An empty list gives 0\.0\.'"):
        renewed([method(paper)], 1)


def test_results_that_are_no_longer_those_of_the_reference_are_a_shortfall(paper, pool):
    list(audited([method(paper)], 1, pool, lambda *_: None, write=True))
    file = paper / "results.json"
    results = json.loads(file.read_text())
    results["1"]["second"] += 0.01
    file.write_text(json.dumps(results))

    # They have to be compared with those of the reference, so a certificate cannot be renewed without a run.
    assert renewed([method(paper)], 1) == {}
    assert any("logged results" in text for text in audit_of_tier(method(paper), range(1), pool).shortfalls)


def test_a_certificate_of_a_method_is_kept_beside_those_of_other_tasks(paper):
    arguments = ["task", "audit", "--tier", "method", "--seeds", "1", "--workers", "1", "--suite", str(paper.parent)]

    done = CliRunner().invoke(app, arguments)

    assert done.exit_code == 1
    assert "contradicts neither the logged results nor a sentence" in done.output
    kept = read_certificate(method(paper))
    assert kept is not None
    assert kept.tier == "method"
    assert kept.behavioural is None


def test_results_of_a_paper_that_is_not_there(paper):
    done = CliRunner().invoke(app, ["task", "results", "tow", "--suite", str(paper.parent)])

    assert isinstance(done.exception, TaskError)
    assert "no paper is named 'tow'" in str(done.exception)
