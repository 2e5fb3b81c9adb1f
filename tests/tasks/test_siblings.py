"""Two tasks of one paper: neither workspace holds the other's answer, and grading has what the check needs."""

import pytest
from tests import toy
from tests.running import lmrbench

from lmrbench.authoring.audit.leaks import foreign_leaks, leaks_between_tiers, worst_leak
from lmrbench.grading.reading import collect_workspace
from lmrbench.grading.systems import submissions_of
from lmrbench.tasks.collect import candidate_files
from lmrbench.tasks.loading import load_suite
from lmrbench.tasks.workspace import export_workspace, unsolved_files, workspace_files

SPREAD = '''

def spread(values: list[float]) -> float:
    """How far the values lie apart, in multiples of their largest."""
    if len(values) < 2:
        return 0.0
    low, high = min(values), max(values)
    return (high - low) / max(abs(low), abs(high), 1e-3) + 0.25 * len(values)
'''
TASK = """
[[task]]
name = "spread"
category = "evaluation_metrics"
targets = ["blending.py::spread"]
instruction = "Implement `spread`."
check = "checks/blend.py"
"""


@pytest.fixture
def suite(suite):
    for name, more in (("repo/blending.py", SPREAD), ("task.toml", TASK)):
        file = suite / "toy" / name
        file.write_text(file.read_text() + more)
    return suite


@pytest.fixture
def tasks(suite):
    return {task.name: task for task in load_suite(suite)}


def test_no_workspace_of_a_paper_holds_an_answer_of_any_of_its_tasks(tasks):
    for task in tasks.values():
        for inputs in ("full", "paper+file", "paper"):
            text = b"\n".join(workspace_files(task, inputs).values())
            assert b"0.25 * len(values)" not in text
            assert b"sum(factors)" not in text
        assert worst_leak(task).share < 0.3


def test_the_instruction_says_which_functions_are_asked_for(tasks):
    text = workspace_files(tasks["blend"], "full")["instruction.md"].decode()
    assert "Implement `blending.py::Blender.blend`" in text
    assert "Also masked, and not asked for: `spread` of `blending.py`." in text
    assert "not asked for" not in workspace_files(tasks["blend"], "paper")["instruction.md"].decode()


def test_an_answer_is_graded_beside_the_golden_of_the_other_tasks(tasks, tmp_path):
    task = tasks["blend"]
    export_workspace(task, tmp_path / "work")
    file = tmp_path / "work" / "repo" / "blending.py"
    assert file.read_text().count("raise NotImplementedError") == 2
    file.write_text(file.read_text().replace("raise NotImplementedError", "return 42.0", 1))

    files, warnings = candidate_files(task, collect_workspace(task, tmp_path / "work", "me"))

    assert warnings == ()
    assert "return 42.0" in files["blending.py"].decode()
    assert SPREAD.strip() in files["blending.py"].decode()
    assert files.keys() == unsolved_files(task).keys()


def test_a_submission_that_edits_the_target_of_another_task_is_warned_and_the_edit_not_run(tasks, tmp_path):
    task = tasks["blend"]
    export_workspace(task, tmp_path / "work")
    file = tmp_path / "work" / "repo" / "blending.py"
    file.write_text(file.read_text().replace("raise NotImplementedError", "return 42.0"))

    files, warnings = candidate_files(task, collect_workspace(task, tmp_path / "work", "me"))

    assert any("spread" in warning for warning in warnings)
    assert SPREAD.strip() in files["blending.py"].decode()


def test_the_golden_hands_in_what_a_solver_could(tasks):
    for task in tasks.values():
        (submission,) = submissions_of("golden", [task])
        files, warnings = candidate_files(task, submission)
        assert warnings == ()
        assert files == dict(task.files.repository)


def test_a_method_whose_class_method_is_masked_around_it_is_not_masked_twice(suite):
    repo = suite / "toy" / "repo" / "blending.py"
    repo.write_text(
        repo.read_text() + "\n\ndef outer(x):\n    def inner(y):\n        return y + 1\n\n    return inner(x)\n"
    )
    table = suite / "toy" / "task.toml"
    more = TASK.replace('"spread"', '"{}"').replace("blending.py::spread", "blending.py::{}")
    table.write_text(table.read_text() + more.format("outer", "outer") + more.format("inner", "outer.inner"))
    tasks = {task.name: task for task in load_suite(suite)}

    shown = workspace_files(tasks["blend"], "full")["repo/blending.py"].decode()
    assert "return inner(x)" not in shown
    assert "y + 1" not in shown
    # What holds the asked function stays, or there would be nothing to write it into.
    shown = workspace_files(tasks["inner"], "full")["repo/blending.py"].decode()
    assert "return inner(x)" in shown
    assert "y + 1" not in shown


def test_a_workspace_that_holds_the_answer_to_a_task_of_another_paper_is_found(suite):
    other = toy.add_paper(suite)
    tasks = load_suite(suite)
    assert max((leak.share for _, _, leak in foreign_leaks(tasks)), default=0.0) < 0.3

    text = (suite / "toy" / "repo" / "blending.py").read_text()
    (other / "repo" / "legacy.py").write_text(text.replace("values", "numbers") + "\n# older\n")

    found = [(task.paper.slug, other.name, leak) for task, other, leak in foreign_leaks(load_suite(suite))]
    assert [item for item in found if item[0] == "other" and item[2].share == 1.0 and "legacy.py" in item[2].place]
    assert not [item for item in found if item[0] == "toy" and item[2].share > 0.3]


@pytest.fixture
def tiers(suite):
    with (suite / "toy" / "task.toml").open("a") as file:
        file.write(toy.METHOD)
    return suite


def test_which_tiers_of_a_paper_answer_each_other_is_found_and_no_shortfall(tiers):
    tasks = load_suite(tiers)
    found = {(task.name, other.name): leak for task, other, leak in leaks_between_tiers(tasks) if leak.share > 0.3}

    # The method's workspace holds `spread`, and those of the function tier hold `weights`.
    assert set(found) == {("both", "spread"), ("blend", "both"), ("spread", "both")}
    assert found["both", "spread"].place.startswith("repo/blending.py")
    assert found["blend", "both"].place.startswith("repo/weighting.py")
    assert {leak.share for leak in found.values()} == {1.0}
    audited = lmrbench("task", "audit", "--check", "toy/blend", "--suite", tiers)
    assert "toy/blend: its workspace contains an answer to toy/both (method tier)" in audited.stdout


def test_list_and_every_form_of_export_say_that_tiers_answer_each_other(tiers, tmp_path):
    def said(*command):
        result = lmrbench(*command, "--suite", tiers)
        assert result.returncode == 0, result.stderr
        return result.stdout + result.stderr

    assert "Workspaces for different tiers of a paper can contain answers to each other's tasks" in said("list")
    for form in ("workspace", "harbor", "huggingface", "jsonl"):
        place = tmp_path / form
        assert "Workspaces for different tiers of a paper can contain answers to each other's tasks" in said(
            "export", "toy/blend", "--to", str(place), "--format", form
        )
        written = [place] if place.is_file() else place.rglob("*")
        texts = {file.name: file.read_text() for file in written if file.is_file()}
        assert any("toy/both" in text for text in texts.values())
        assert form == "jsonl" or "tier" in texts["README.md"]


def test_a_paper_of_one_tier_says_nothing_of_tiers(suite, tmp_path):
    for command in (["list"], ["export", "toy/blend", "--to", tmp_path / "work"]):
        result = lmrbench(*command, "--suite", suite)
        assert "answers to each other" not in result.stdout + result.stderr
    assert not (tmp_path / "work" / "README.md").exists()
