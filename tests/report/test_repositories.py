"""The same papers in two suites: by hand, and as the report shows them."""

import json
import shutil

import pytest
from typer.testing import CliRunner

from lmrbench.cli import app
from lmrbench.report.measures.paired import repository_effects
from lmrbench.tasks.loading import load_suite, suite_folder

SUITES = {f"{suite}{number}/{task}": suite for suite in ("core", "real") for number in range(5) for task in "ab"}
PAPERS = {task: f"paper {task[4]}" for task in SUITES}


def test_papers_are_paired_whatever_the_number_of_their_tasks(grade):
    # Of each paper two tasks of either suite, of which one fails in the real one.
    grades = [grade("me", task, suite == "core" or task.endswith("a")) for task, suite in SUITES.items()]
    grades += [grade("one suite", task, True) for task, suite in SUITES.items() if suite == "core"]
    grades += [grade("one paper", task, True) for task in ("core0/a", "real0/a", "real1/a")]

    found = {item.system: item.comparison for item in repository_effects(grades, SUITES, PAPERS)}

    assert list(found) == ["me", "one paper"]
    mine = found["me"]
    assert (mine.first, mine.second, mine.tasks, mine.wins, mine.losses) == ("core", "real", 5, 5, 0)
    assert mine.difference.mean == 0.5
    # All of five signs one way: twice one half to the power of five.
    assert mine.test == "sign-flip"
    assert mine.p == pytest.approx(2 / 2**5)
    assert (found["one paper"].tasks, found["one paper"].difference.mean) == (1, 0.0)


@pytest.fixture
def joined(toy_suite, tmp_path):
    """A suite that is made of the toy suite and of another, which has the same paper by another name."""
    paper = shutil.copytree(toy_suite / "toy", tmp_path / "real" / "game", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(toy_suite / "toy", tmp_path / "core" / "toy", ignore=shutil.ignore_patterns("__pycache__"))
    (paper / "task.toml").write_text((paper / "task.toml").read_text().replace('slug = "toy"', 'slug = "game"'))
    for name in ("core", "real", "both"):
        (tmp_path / name).mkdir(exist_ok=True)
        (tmp_path / name / "suite.toml").write_text(f'name = "{name}"\nversion = "1"\n')
    file = tmp_path / "both" / "suite.toml"
    file.write_text(file.read_text() + 'suites = ["../core", "../real"]\n')
    return tmp_path / "both"


@pytest.mark.sandbox
def test_a_run_over_two_suites_is_graded_at_once_and_reported_apart(joined, tmp_path):
    command = CliRunner()
    ids = [task.id for task in load_suite(joined)]
    assert ids == ["toy/blend", "game/blend"]
    listed = command.invoke(app, ["list", "--suite", str(joined)])
    assert "core 1 and real 1: 2 tasks" in listed.output

    out = tmp_path / "run"
    arguments = ["--golden", "--mask", "--suite", str(joined), "--out", str(out), "--workers", "1"]
    graded = command.invoke(app, ["grade", *arguments])
    assert graded.exit_code == 0, graded.output
    shown = command.invoke(app, ["report", str(out), "--suite", str(joined), "--markdown", "--full"])
    assert "core: Correct answers by task" in shown.output
    assert "real: Correct answers by task" in shown.output
    assert "Difference in rates between two suites" in shown.output

    numbers = json.loads(command.invoke(app, ["report", str(out), "--suite", str(joined), "--json"]).stdout)
    assert list(numbers["suites"]) == ["core", "real"]
    assert [item["task"] for item in numbers["suites"]["real"]["grades"]] == ["game/blend"] * 2
    assert [item["system"] for item in numbers["repositories"]] == ["golden", "mask"]
    assert [item["comparison"]["tasks"] for item in numbers["repositories"]] == [1, 1]


@pytest.mark.parametrize(
    ("suites", "said"),
    [
        ('["../core", "../core"]', "two suites contain the task 'toy/blend'"),
        ('["../both"]', "both combines suites itself"),
        ('["../nowhere"]', "nowhere: there is no such suite folder"),
    ],
)
def test_suites_that_can_not_be_joined(joined, suites, said):
    file = joined / "suite.toml"
    file.write_text(file.read_text().replace('["../core", "../real"]', suites))

    done = CliRunner().invoke(app, ["list", "--suite", str(joined)])

    assert said in str(done.exception)


def test_a_suite_of_suites_has_no_papers_of_its_own(joined):
    shutil.copytree(joined.parent / "core" / "toy", joined / "toy")

    done = CliRunner().invoke(app, ["list", "--suite", str(joined)])

    assert "the folder also contains the paper toy" in str(done.exception)


def test_all_is_what_comes_with_lmrbench():
    ids = {name: {task.id for task in load_suite(suite_folder(name))} for name in ("core", "real", "live", "all")}

    assert ids["all"] == ids["core"] | ids["real"] | ids["live"]
    assert all(ids.values())
