"""What passes, what fails and why, over a suite of one small task."""

import pytest
from tests.graded import graded, graded_run

from lmrbench.errors import SandboxError, TaskError
from lmrbench.files import cache_folder
from lmrbench.grading import grader as grade_module
from lmrbench.grading.draw import installation_seed
from lmrbench.grading.systems import submissions_of
from lmrbench.runs.folder import read_run
from lmrbench.sandbox.pool import LocalPool
from lmrbench.sandbox.protocol import Job, Outcome
from lmrbench.sandbox.registry import make_sandbox
from lmrbench.tasks.loading import load_suite
from lmrbench.tasks.submission import Submission

RIGHT = """
def blend(self, values):
    factors = weights(len(values))
    total = sum(factors)
    return self.scale * sum(map(lambda w, v: w * v / total, factors, values)) if values else 0.0
"""


def grades_of(pool, tasks, *codes, seeds=(0,)):
    submissions = [Submission(system="me", task="toy/blend", sample=n, code=code) for n, code in enumerate(codes)]
    grades = {item.sample: item for item in graded(submissions, tasks, seeds, pool)}
    return [grades[number] for number in range(len(codes))]


@pytest.mark.parametrize(
    ("system", "correct"), [("golden", True), ("rewrites", True), ("mask", False), ("wrong", False)]
)
def test_built_in_systems_are_graded_as_they_must_be(pool, tasks, system, correct):
    submissions = list(submissions_of(system, list(tasks.values())))
    grades = list(graded(submissions, tasks, (0, 1), pool))
    assert len(grades) == len(submissions) > 0
    assert {item.correct for item in grades} == {correct}


def test_equal_content_is_graded_once_and_each_hand_in_gets_its_grade(pool, tasks, monkeypatch):
    monkeypatch.setattr(grade_module, "_WINDOW", 3)
    ran: list[Job] = []

    def run(jobs):
        ran.extend(jobs)
        return LocalPool.run(pool, jobs)

    monkeypatch.setattr(pool, "run", run)
    wrong, none = RIGHT.replace("self.scale *", "2 *"), "I can't do that."
    submissions = [
        Submission(system=system, task="toy/blend", sample=sample, label=f"{system} {sample}", code=code)
        for sample, code in enumerate((RIGHT, wrong, none, RIGHT))
        for system in ("a", "b")
    ]
    found = {(item.system, item.sample): item for item in graded(submissions, tasks, (5,), pool)}
    assert {key: item.correct for key, item in found.items()} == {
        (system, sample): sample in (0, 3) for system in "ab" for sample in range(4)
    }
    assert all(item.label == f"{system} {sample}" for (system, sample), item in found.items())
    assert len({job.files["blending.py"] for job in ran if job.owner.startswith("system")}) == 2
    assert sum(job.owner.startswith("system") for job in ran) == 2


def test_a_right_answer_passes_and_says_what_it_holds_for(pool, tasks):
    (result,) = grades_of(pool, tasks, RIGHT, seeds=(3, 4))
    assert result.correct
    assert [(case.seed, case.name) for case in result.cases][:4] == [(3, f"{n} values") for n in (0, 1, 2, 5)]
    assert len(result.cases) == 8
    assert (result.seeds, result.sandbox) == ((3, 4), "bubblewrap")


def test_a_wrong_answer_fails_with_a_reason_that_a_person_can_read(pool, tasks):
    (result,) = grades_of(pool, tasks, RIGHT.replace("self.scale *", "1.01 * self.scale *"))
    assert not result.correct
    assert [case.verdict for case in result.cases] == ["match", "mismatch", "mismatch", "mismatch"]
    assert result.first_failure.reason.startswith("blend: expected ")


def test_an_answer_may_end_at_its_first_failure(pool, tasks):
    code = RIGHT.replace("if values", "if len(values) != 1")
    submissions = [
        Submission(system="me", task="toy/blend", sample=n, code=item) for n, item in enumerate([code, RIGHT])
    ]
    failed, passed = sorted(graded(submissions, tasks, (0, 1), pool, fail_fast=True), key=lambda item: item.sample)
    assert [case.verdict for case in failed.cases] == ["match", "mismatch", "missing", "missing"] * 2
    assert failed.first_failure.reason.startswith("blend: expected ")
    assert failed.cases[2].reason == "not run, since an earlier case had failed"
    assert not failed.correct
    assert passed.correct
    assert {case.verdict for case in passed.cases} == {"match"}


def test_the_reason_of_an_error_has_the_frames_of_the_answer_and_none_of_the_worker(pool, tasks):
    code = "def blend(self, values):\n    return deeper(values)\n\ndef deeper(values):\n    raise KeyError('x')"
    (result,) = grades_of(pool, tasks, code)
    reason = result.first_failure.reason

    assert "in deeper" in reason
    assert "case_runner" not in reason
    assert reason.endswith("KeyError: 'x'")


@pytest.mark.parametrize(
    ("code", "verdict", "words"),
    [
        ("def other(values): return 0", "missing", "blend"),
        ("def blend(self, values:\n    return 0", "missing", "line"),
        ("", "missing", "blend"),
        ("def blend(self, values): raise KeyError('x')", "error", "KeyError: 'x'"),
        ("def blend(self, values): return self", "error", "Blender is not plain data"),
        ("def blend(self, values):\n    import os\n    os._exit(0)", "error", "exit code 0"),
        ("def blend(self, values):\n    while True: pass", "timeout", "took more than 5 s of processor time"),
    ],
)
def test_whatever_a_candidate_does_is_a_verdict(pool, tasks, code, verdict, words):
    (result,) = grades_of(pool, tasks, code)
    assert not result.correct
    assert result.first_failure.verdict == verdict
    assert words in result.first_failure.reason
    assert len(result.cases) == 4


def test_an_answer_that_is_hard_coded_for_one_seed_fails_under_another(pool, tasks):
    (honest,) = grades_of(pool, tasks, RIGHT, seeds=(0,))
    assert honest.correct
    code = "def blend(self, values):\n    import random\n    generator = random.Random(0)\n"
    code += (
        "    draws = [[generator.uniform(-3, 3) for _ in range(n)] + [generator.uniform(2, 5)] for n in (0, 1, 2, 5)]\n"
    )
    code += "    draw = next(draw for draw in draws if draw[:-1] == values and draw[-1] == self.scale)\n"
    code += (
        "    return draw[-1] * sum((n + 1) * v for n, v in enumerate(values)) / max(1, sum(range(len(values) + 1)))\n"
    )
    known, fresh = grades_of(pool, tasks, code, seeds=(0,)) + grades_of(pool, tasks, code, seeds=(1,))
    assert (known.correct, fresh.correct) == (True, False)


def test_edits_outside_of_the_target_are_reported_and_not_run(pool, tasks):
    file = tasks["toy/blend"].files.repository["blending.py"].decode()
    edited = file.replace("self.scale = scale", "self.scale = 0").replace("Blends values", "Changed")
    (result,) = grades_of(pool, tasks, {"blending.py": edited})
    assert result.correct
    assert any("__init__" in warning for warning in result.warnings)


def test_a_golden_that_fails_its_own_check_is_the_tasks_fault(pool, tasks, tmp_path):
    folder = tmp_path / "toy"
    _copy(tasks["toy/blend"].folder, folder)
    check = folder / "checks" / "blend.py"
    check.write_text(check.read_text() + "    raise OSError('gone')\n" * 0 + "\nobserve = None\n")
    broken = {task.id: task for task in load_suite(tmp_path)}
    with pytest.raises(TaskError, match=r"toy/blend: the reference fails its own check in case 0 \(0 values\)"):
        grades_of(pool, broken, RIGHT)
    check.write_text("import json.no_such_module\ndef cases(seed): return [0]\ndef observe(case): return 0\n")
    broken = {task.id: task for task in load_suite(tmp_path)}
    with pytest.raises(TaskError, match="toy/blend: the check can't be run"):
        grades_of(pool, broken, RIGHT)
    check.write_text("def cases(seed): return []\ndef observe(case): return 0\n")
    broken = {task.id: task for task in load_suite(tmp_path)}
    with pytest.raises(TaskError, match="toy/blend: the check draws no ordinary case with seed 0"):
        grades_of(pool, broken, RIGHT)


class _LosingPool:
    """Answers every job as if its worker had been lost."""

    sandbox = make_sandbox("bubblewrap", ())

    def run(self, jobs):
        for number, _ in enumerate(jobs):
            yield number, Outcome(broken="the sandbox ended", lost=True)


def test_a_machine_that_loses_the_golden_is_nobodys_failed_grade(tasks):
    with pytest.raises(SandboxError, match="toy/blend: while cases were drawn, the worker was lost"):
        grades_of(_LosingPool(), tasks, RIGHT, seeds=(991,))


def test_golden_outputs_are_kept_by_content_and_seed(pool, tasks, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    grades_of(pool, tasks, RIGHT, seeds=(5, 6))
    kept = sorted((cache_folder() / "golden").iterdir())
    assert len(kept) == 2
    before = [path.stat().st_mtime_ns for path in kept]
    kept[0].write_text("damaged")
    (result,) = grades_of(pool, tasks, RIGHT, seeds=(5, 6))
    assert result.correct
    assert kept[1].stat().st_mtime_ns == before[1]
    assert kept[0].read_text() != "damaged"


def test_the_seed_of_an_installation_is_drawn_once(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "one"))
    first = installation_seed()
    assert installation_seed() == first
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "two"))
    assert installation_seed() != first


def test_a_run_goes_on_where_it_stopped_and_grades_anew_what_changed(pool, tasks, tmp_path):
    submissions = [Submission(system="me", task="toy/blend", sample=n, code=RIGHT) for n in range(3)]
    list(graded_run(tmp_path, submissions[:2], tasks, (0,), pool))
    lines = (tmp_path / "grades.jsonl").read_text().splitlines()
    list(graded_run(tmp_path, submissions, tasks, (0,), pool))
    assert (tmp_path / "grades.jsonl").read_text().splitlines()[:2] == lines
    assert len(read_run(tmp_path).grades) == 3
    changed = submissions[0].model_copy(update={"code": RIGHT.replace("0.0", "1.0")})
    list(graded_run(tmp_path, [changed, *submissions[1:]], tasks, (0,), pool))
    assert [item.correct for item in sorted(read_run(tmp_path).grades, key=lambda item: item.sample)] == [
        False,
        True,
        True,
    ]
    assert len((tmp_path / "grades.jsonl").read_text().splitlines()) == 4


def _copy(source, destination):
    for path in source.rglob("*"):
        if path.is_file() and "__pycache__" not in path.parts:
            target = destination / path.relative_to(source)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(path.read_bytes())
