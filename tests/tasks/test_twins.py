"""A twin is the task of an altered paper: what is right for the original is wrong there, and the reverse."""

import pytest
from tests.graded import graded

from lmrbench.errors import TaskError
from lmrbench.grading.systems import submissions_of
from lmrbench.sandbox.registry import open_pool
from lmrbench.tasks.loading import load_suite
from lmrbench.tasks.selection import select
from lmrbench.tasks.workspace import workspace_files

TWIN = """
of = "blend"
why = "The mean is not scaled but shifted."
[[summary]]
old = '''SUMMARY'''
new = "The mean is shifted by the scale."
[[instruction]]
old = "An empty list gives 0.0."
new = "An empty list gives 0.0. The scale is added: plus `self.scale`."
[[repo]]
file = "blending.py"
old = "        return self.scale * sum(w * v for w, v in zip(factors, values, strict=True)) / sum(factors)"
new = "        return self.scale + sum(w * v for w, v in zip(factors, values, strict=True)) / sum(factors)"
"""


@pytest.fixture
def suite(suite):
    (suite / "toy" / "twins").mkdir()
    last = (suite / "toy" / "paper.md").read_text().strip().splitlines()[-1]
    (suite / "toy" / "twins" / "blend_shifted.toml").write_text(TWIN.replace("SUMMARY", last))
    return suite


@pytest.mark.sandbox
def test_the_original_fails_on_its_twin_and_the_twin_on_the_original(suite):
    original, twin = load_suite(suite)
    assert (twin.id, twin.tier, twin.twin_of) == ("toy/blend_shifted", "twin", "toy/blend")
    (first,) = submissions_of("golden", [original])
    (second,) = submissions_of("golden", [twin])
    answers = [
        item.model_copy(update={"task": task.id, "system": f"{item.task} on {task.id}"})
        for item in (first, second)
        for task in (original, twin)
    ]
    with open_pool("bubblewrap", (), 1) as pool:
        found = graded(
            [*answers, *submissions_of("wrong", [twin])], {task.id: task for task in (original, twin)}, (3,), pool
        )
        passed = {(item.system, item.label): item.correct for item in found}
    assert passed == {
        ("toy/blend on toy/blend", ""): True,
        ("toy/blend on toy/blend_shifted", ""): False,
        ("toy/blend_shifted on toy/blend", ""): False,
        ("toy/blend_shifted on toy/blend_shifted", ""): True,
        ("wrong", "the_original"): False,
        ("wrong", "loop"): False,
    }


def test_a_solver_of_a_twin_sees_the_altered_paper_and_instruction(suite):
    original, twin = load_suite(suite)
    texts = [b"\n".join(workspace_files(task, "full").values()).decode() for task in (original, twin)]
    assert ["shifted by the scale" in text for text in texts] == [False, True]
    assert ["plus `self.scale`" in text for text in texts] == [False, True]
    assert "self.scale + sum" not in texts[1]


def test_edits_keep_how_the_lines_of_a_file_end(suite):
    file = suite / "toy" / "repo" / "blending.py"
    original, twin = load_suite(suite)
    unix = original.files.repository["blending.py"], twin.files.repository["blending.py"]
    file.write_bytes(unix[0].replace(b"\n", b"\r\n"))
    original, twin = load_suite(suite)
    windows = original.files.repository["blending.py"], twin.files.repository["blending.py"]
    assert windows == tuple(data.replace(b"\n", b"\r\n") for data in unix)
    file.write_bytes(unix[0].replace(b"\n", b"\r\n", 1))
    _, twin = load_suite(suite)
    assert twin.files.repository["blending.py"] == unix[1].replace(b"\n", b"\r\n", 1)


def test_twins_are_chosen_by_tier_or_by_id(suite):
    tasks = load_suite(suite)
    assert [task.name for task in select(tasks, [])] == ["blend"]
    assert [task.name for task in select(tasks, ["toy"])] == ["blend"]
    assert [task.name for task in select(tasks, [], "twin")] == ["blend_shifted"]
    assert [task.name for task in select(tasks, ["toy/blend_shifted"])] == ["blend_shifted"]
    with pytest.raises(TaskError, match="no task of the tier method is named 'toy'"):
        select(tasks, ["toy"], "method")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('of = "blend"', 'of = "other"', "of: the paper has no task 'other'"),
        ('file = "blending.py"', 'file = "nowhere.py"', "there is no file repo/nowhere.py"),
        ("return self.scale *", "return self.size *", "must occur once in the text, not 0 times"),
        ('of = "blend"', 'of = "blend"\nspeed = 1', "speed: unknown key"),
    ],
)
def test_a_bad_twin_is_one_line(suite, old, new, said):
    file = suite / "toy" / "twins" / "blend_shifted.toml"
    file.write_text(file.read_text().replace(old, new))
    with pytest.raises(TaskError, match=r"blend_shifted\.toml") as raised:
        load_suite(suite)
    assert said in str(raised.value)
