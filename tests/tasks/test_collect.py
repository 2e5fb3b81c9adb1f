"""Whatever form an answer comes back in, its targets are found, and what else was changed is said."""

import json
import subprocess
from typing import Any

import pytest
from tests import core

from lmrbench.errors import LmrbenchError, SubmissionError, TaskError
from lmrbench.grading.reading import collect_diff, collect_workspace
from lmrbench.grading.systems import submissions_of
from lmrbench.source.ownership import SUFFIX
from lmrbench.source.responses import from_response
from lmrbench.source.transplant import transplant
from lmrbench.tasks.collect import candidate_files, transplanted
from lmrbench.tasks.files import readable
from lmrbench.tasks.loading import load_suite
from lmrbench.tasks.model import Target
from lmrbench.tasks.selection import select
from lmrbench.tasks.submission import Submission
from lmrbench.tasks.workspace import export_workspace, masked_files, repository_files, workspace_files

METHOD = ["Blender.blend"]
FUNCTION = ["f"]
BODY = "    def blend(self, values):\n        return 42\n"
MASKS = {
    "Blender": b"class Blender:\n    def blend(self, values):\n        raise NotImplementedError\n",
    None: b"def f(x):\n    raise NotImplementedError\n",
}
BARE = "def blend(self, values):\n    return 42\n"


def result_of(text, targets=METHOD, name="Blender"):
    namespace: dict[str, Any] = {}
    exec(transplant(MASKS[name], from_response(text, targets).text, targets).data, namespace)
    return namespace[name]().blend([]) if name else namespace["f"](1)


@pytest.mark.parametrize(
    "text",
    [
        f"class Blender:\n{BODY}",
        BARE,
        BODY,
        f"Here it is:\n\n```python\n{BARE}```\n\nIt weighs the values.",
        f"```\n{BODY}```",
        f"~~~py\n{BARE}~~~\n",
        f"```python\n{BARE}",
        f"First a helper:\n```python\nANSWER = 42\n```\nthen\n```python\n{BARE.replace('42', 'ANSWER')}```",
        f"```python\n>>> blend([1, 2])\n42\n```\nThe answer:\n```python\n{BARE}```",
        f"Sure. This is the method.\n\n{BARE}\nIt returns the mean; isn't that nice?",
        "def blend(self, values):\n        return 42\n",
        f"  1. Steps:\n   ```python\n   {BARE.replace(chr(10), chr(10) + '   ')}\n   ```",
        f"```python\nclass Blender:\n{BODY}```",
        f"A draft:\n```python\n{BARE.replace('42', '41')}```\nBetter:\n```python\n{BARE}```",
        BARE.replace("    ", "\t").replace("\n", "\r\n"),
    ],
)
def test_a_response_in_any_dress_holds_the_method(text):
    assert result_of(text) == 42


def test_a_function_with_its_decorator_and_imports_survives_the_prose():
    text = "Answer below.\n\nimport functools\n\n@functools.cache\ndef f(x):\n    return x + 1\n\nDone - that's all."
    assert result_of(text, FUNCTION, None) == 2


def test_a_broken_response_comes_back_for_the_reason_to_be_said():
    with pytest.raises(SubmissionError, match="the candidate can't be parsed: line 2: "):
        from_response("```python\ndef f(x:\n    return 1\n```", FUNCTION)


@pytest.fixture
def task(toy_suite):
    return load_suite(toy_suite)[0]


@pytest.fixture
def workspace(task, tmp_path):
    export_workspace(task, tmp_path / "work")
    return tmp_path / "work"


def test_a_workspace_holds_no_answer_and_the_same_bytes_every_time(task, workspace):
    names = sorted(path.relative_to(workspace).as_posix() for path in workspace.rglob("*") if path.is_file())
    assert names == ["instruction.md", "paper.md", "repo/blending.py", "repo/weighting.py"]
    assert all(b"sum(factors)" not in path.read_bytes() for path in workspace.rglob("*") if path.is_file())
    assert workspace_files(task, "full") == workspace_files(task, "full")
    assert sorted(workspace_files(task, "paper+file")) == ["instruction.md", "paper.md", "repo/blending.py"]
    paper = workspace_files(task, "paper")
    assert sorted(paper) == ["instruction.md", "paper.md"]
    assert b"def blend(self, values: list[float]) -> float:" in paper["instruction.md"]


def test_a_folder_that_is_in_use_is_not_written_to(task, workspace):
    with pytest.raises(LmrbenchError, match="is not empty"):
        export_workspace(task, workspace)


def test_an_edited_workspace_gives_the_goal_file_and_says_what_else_was_done(task, workspace, tmp_path):
    goal = workspace / "repo" / "blending.py"
    goal.write_text(goal.read_text().replace("raise NotImplementedError", "return 42.0"))
    (workspace / "repo" / "weighting.py").write_text("hacked = True\n")
    (workspace / "repo" / "conftest.py").write_text("")
    (workspace / "secret").symlink_to("/etc/passwd")
    (workspace / "repo" / "__pycache__").mkdir()
    (workspace / "repo" / "__pycache__" / "x.pyc").write_bytes(b"")
    submission = collect_workspace(task, workspace, "me")
    assert "return 42.0" in submission.code["blending.py"]
    assert sorted(submission.warnings) == [
        "repo/conftest.py: added; left out",
        "repo/weighting.py: changed; left out",
        "secret: a link; not followed",
    ]
    files, _ = candidate_files(task, submission)
    assert files["weighting.py"] == repository_files(task)["weighting.py"]
    assert b"return 42.0" in files["blending.py"]


def test_a_goal_file_that_is_a_link_or_gone_is_not_read(task, workspace):
    goal = workspace / "repo" / "blending.py"
    goal.unlink()
    with pytest.raises(SubmissionError, match=r"neither this file nor answer\.py"):
        collect_workspace(task, workspace, "me")
    goal.symlink_to("/etc/passwd")
    with pytest.raises(SubmissionError, match="no such file; links are not followed"):
        collect_workspace(task, workspace, "me")


def test_a_diff_as_git_prints_it_applies_and_one_that_does_not_is_said(task, workspace):
    for command in ("init -q", "add -A", "-c user.name=a -c user.email=a@b commit -qm a"):
        subprocess.run(f"git {command}", shell=True, cwd=workspace, check=True)
    goal = workspace / "repo" / "blending.py"
    goal.write_text(goal.read_text().replace("raise NotImplementedError", "return 42.0"))
    (workspace / "repo" / "weighting.py").write_text("changed = 1\n")
    diff = subprocess.run(["git", "diff"], cwd=workspace, check=True, capture_output=True, text=True).stdout
    submission = collect_diff(task, diff.encode(), "me")
    assert "return 42.0" in submission.code["blending.py"]
    assert submission.warnings == ("repo/weighting.py: changed, but not a goal file; left out",)
    with pytest.raises(SubmissionError, match=r"blending.py: the hunk at line \d+ does not apply"):
        collect_diff(task, diff.replace("Return the scaled", "Return some other").encode(), "me")


def test_one_response_answers_a_task_whose_targets_stand_in_several_files():
    (task,) = select(core.ALL, ["step_length"])
    helpers = "def untouched(x):\n    return x\n\ndef joined(steps):\n    return untouched(steps)\n\nUNUSED = 1\n\n"
    functions = {
        "get_sentence": "def get_sentence(demo, x, *others):\n    return untouched(x)\n",
        "add_steps": "def add_steps(demo, strategies):\n    return joined(strategies)\n",
        "compress_steps": "def compress_steps(demo, times, ask, generator):\n    return joined(demo)\n",
    }
    for text in (helpers + "\n".join(functions.values()), helpers.join(functions.values())):
        response = f"This is it.\n\n```python\n{text}```\n"
        files, warnings = candidate_files(task, Submission(system="x", task=task.id, code=response))
        prompts, steps = files["run_inference.py"].decode(), files["steps.py"].decode()
        assert functions["get_sentence"] in prompts
        assert "def joined" not in prompts
        assert functions["add_steps"] in steps
        assert functions["compress_steps"] in steps
        assert "def joined" in steps
        assert [line for line in warnings if "UNUSED" not in line] == []

    del functions["add_steps"]
    with pytest.raises(SubmissionError, match=r"steps\.py: .*add_steps"):
        candidate_files(task, Submission(system="x", task=task.id, code="".join(functions.values())))


@pytest.mark.parametrize("task", core.ALL, ids=lambda task: task.id)
def test_the_reference_as_one_response_is_taken_in_full(task):
    golden = {name: repository_files(task)[name] for name in task.goal_files}
    response = "".join(f"```python\n{text.decode()}\n```\n" for text in golden.values())
    files, warnings = candidate_files(task, Submission(system="x", task=task.id, code=response))
    assert {name: files[name] for name in golden} == golden
    # Where a file holds targets of other tasks too, a solver is told that those are kept as they were.
    assert [line for line in warnings if "which is kept" not in line] == []


def test_code_for_a_file_that_is_no_goal_file_is_left_out(task):
    code = {"blending.py": BARE, "weighting.py": "x = 1"}
    files, warnings = candidate_files(task, Submission(system="me", task=task.id, code=code))
    assert files["weighting.py"] == masked_files(task)["weighting.py"]
    assert any("weighting.py" in warning for warning in warnings)
    with pytest.raises(SubmissionError, match=r"the submission has no code for blending\.py"):
        candidate_files(task, Submission(system="me", task=task.id, code={"weighting.py": ""}))


def _suite(toy_suite, tmp_path):
    subprocess.run(["cp", "-r", str(toy_suite), str(tmp_path / "suite")], check=True)
    return tmp_path / "suite"


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('slug = "toy"', 'slug = "toys"', "the name of the folder is 'toy'"),
        ("year = 2020", 'year = "soon"', r"paper\.year"),
        ("year = 2020", "year = 2020\neditor = 1", r"paper\.editor: unknown key"),
        ('name = "blend"', 'name = "blend"\nfolder = "x"', r"task\[0\]\.folder: unknown key"),
        ("evaluation_metrics", "Metrics", r"task\[0\]\.category"),
        ("Blender.blend", "Blender.bland", r"task\[0\]\.targets: .*Blender\.blend"),
        ("blending.py::", "/etc/passwd::", r"task\[0\]\.targets"),
        ("blending.py::", "../toy/repo/blending.py::", r"task\[0\]\.targets"),
        ("blending.py::Blender.blend", "blending.py", r"task\[0\]\.targets"),
        (
            'context = ["weighting.py"]',
            'context = ["absent.py"]',
            r"task\[0\]\.context: there is no file repo/absent\.py",
        ),
        ("checks/blend.py", "checks/none.py", "there is no file checks/none.py"),
        ("rtol = 1e-9", "rtol = -1", r"task\[0\]\.tolerance\.rtol"),
        ("[paper]", "[paper", "task.toml"),
        ("[[task]]", "[[tasks]]", "unknown key 'tasks'"),
    ],
)
def test_a_task_that_is_not_well_formed_is_refused_at_load_by_file_and_key(toy_suite, tmp_path, old, new, words):
    suite = _suite(toy_suite, tmp_path)
    file = suite / "toy" / "task.toml"
    assert old in file.read_text()
    file.write_text(file.read_text().replace(old, new, 1))
    with pytest.raises(TaskError, match=words) as error:
        load_suite(suite)
    assert str(file) in str(error.value)


def test_a_link_that_leaves_the_repository_is_refused(toy_suite, tmp_path):
    suite = _suite(toy_suite, tmp_path)
    (suite / "toy" / "repo" / "data").symlink_to("/etc/passwd")
    with pytest.raises(TaskError, match="is a link to a path outside the folder"):
        load_suite(suite)


def test_a_second_copy_of_the_goal_file_is_refused(toy_suite, tmp_path):
    suite = _suite(toy_suite, tmp_path)
    repo = suite / "toy" / "repo"
    (repo / "blending_ref.py").write_bytes((repo / "blending.py").read_bytes())
    with pytest.raises(TaskError, match=r"blending_ref\.py is a copy"):
        masked_files(load_suite(suite)[0])


def test_notebooks_lose_what_they_printed(toy_suite, tmp_path):
    suite = _suite(toy_suite, tmp_path)
    cell = {"cell_type": "code", "source": ["1"], "outputs": [{"text": "the answer"}], "execution_count": 3}
    (suite / "toy" / "repo" / "n.ipynb").write_text(json.dumps({"cells": [cell]}))
    shown = masked_files(load_suite(suite)[0])["n.ipynb"]
    assert b"the answer" not in shown
    assert json.loads(shown)["cells"][0]["source"] == ["1"]


def test_patterns_choose_tasks_and_a_typing_error_is_said(task):
    for pattern in ("toy", "toy/blend", "toy/*", "evaluation_metrics"):
        assert select([task], [pattern]) == (task,)
    with pytest.raises(TaskError, match="no task is named 'tyo'"):
        select([task], ["toy", "tyo"])


def test_the_text_of_a_pdf_has_whole_words_and_lines_of_one_kind():
    assert readable("atten\ufffe\r\ntion is\r\nall\0 you\rneed") == "attention is\nall you\nneed"


def test_one_text_may_answer_targets_of_several_files():
    goals = {
        "low.py": b"LIMIT = 3\n\n\ndef capped(x):\n    raise NotImplementedError\n",
        "high.py": b"from low import capped\n\n\ndef twice(x):\n    raise NotImplementedError\n",
    }
    targets = [Target.parse("low.py::capped"), Target.parse("high.py::twice")]
    text = "def capped(x):\n    return min(x, LIMIT)\n\n\ndef twice(x):\n    return capped(x) + capped(x)\n"

    files, warnings = transplanted(goals, goals, targets, text)

    assert files["high.py"].decode() == (
        "from low import capped\n\n\ndef twice(x):\n    return capped(x) + capped(x)\n"
    )
    assert warnings == ()


@pytest.mark.parametrize("task", [task for task in core.ALL if task.tier == "method"], ids=lambda task: task.id)
def test_no_rewrite_of_a_method_brings_a_second_copy_of_a_target(task):
    for item in submissions_of("rewrites", [task]):
        files, _ = candidate_files(task, item)
        assert not [name for name, data in files.items() if SUFFIX.encode() in data], item.label
