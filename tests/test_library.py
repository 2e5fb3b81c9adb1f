"""The public interface: its names, what importing it costs, and the examples of its page."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests import core
from tests.toy import RIGHT, UNSCALED

import lmrbench
from lmrbench import Submission, grade, load_suite
from lmrbench.errors import UsageError

PAGE = Path(__file__).parents[1] / "docs" / "library.md"


def test_these_are_the_public_names():
    assert dir(lmrbench) == [
        "CaseVerdict",
        "Grade",
        "Grader",
        "GradingPlan",
        "LmrbenchError",
        "Run",
        "Submission",
        "Task",
        "__version__",
        "collect",
        "export_workspace",
        "grade",
        "load_suite",
        "read_run",
    ]
    assert all(getattr(lmrbench, name) is not None for name in dir(lmrbench))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = lmrbench.nothing


def test_importing_it_loads_nothing_heavy():
    code = (
        "import sys, lmrbench\n"
        "assert not {'numpy', 'pydantic', 'torch', 'inspect_ai', 'scipy'} & set(sys.modules)\n"
        "lmrbench.grade, lmrbench.load_suite, lmrbench.read_run, lmrbench.collect, lmrbench.export_workspace\n"
        "assert not {'torch', 'inspect_ai', 'statsmodels'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.sandbox
def test_grades_come_in_the_order_of_the_answers_and_of_any_number_of_them(toy_suite):
    tasks = load_suite(toy_suite)
    answers = [Submission(system="me", task="toy/blend", code=code) for code in (UNSCALED, RIGHT, UNSCALED, "no code")]

    results = grade(answers, tasks=tasks, seeds=[1, 2], workers=1)

    assert [item.correct for item in results] == [False, True, False, False]
    assert {(item.system, item.sample, item.seeds) for item in results} == {("me", 0, (1, 2))}
    assert grade([], tasks=tasks) == []
    with pytest.raises(UsageError, match="'toy/other'"):
        grade([Submission(system="me", task="toy/other", code="")], tasks=tasks)


@pytest.mark.torch
@pytest.mark.sandbox
def test_the_examples_of_the_page_run_as_they_stand(tmp_path, monkeypatch):
    examples = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    (task,) = [task for task in core.ALL if task.id == "dpo/preference_loss"]
    (tmp_path / "answer.py").write_bytes(task.files.repository[task.goal_files[0]])
    command = [sys.executable, "-m", "lmrbench"]
    subprocess.run([*command, "grade", "--golden", "--task", "dpo", "--out", "runs/built-in"], cwd=tmp_path, check=True)

    printed = [
        subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True, capture_output=True, text=True).stdout
        for code in examples
    ]

    first, second, third = printed
    assert first == "correct\n"
    assert second.startswith("False ")
    assert third == "golden dpo/preference_loss True\n"
    # An answer is graded in six lines, its imports included.
    assert len([line for line in examples[0].splitlines() if line]) <= 6
