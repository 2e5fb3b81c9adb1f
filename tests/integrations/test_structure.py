"""The regression on the structure of repositories, against statsmodels, and where it is not defined."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from tests.core import TASKS
from tests.runs.examples import grade
from typer.testing import CliRunner

from lmrbench.cli import app
from lmrbench.integrations.lmr_bench.structure import _separated, paper_structure, regression, structure
from lmrbench.tasks.model import Target


def grades_of(outcomes):
    """Make grades of all tasks by system, of a function of the task's measures and of its place."""
    return [
        grade(system, task, verdicts=("match",) if passes(structure(TASKS[task]), place) else ("mismatch",))
        for system, passes in outcomes.items()
        for place, task in enumerate(TASKS)
    ]


def test_measures_of_a_repository():
    found = structure(TASKS["dpo/preference_loss"])
    files = TASKS["dpo/preference_loss"].files.repository
    assert all("/" not in name for name in files)
    assert found["directory depth"] == 0
    assert found["branching"] == len(files)
    assert found["imbalance"] == 0
    deep = structure(TASKS["hit/hierarchy_transformer_loss"])
    assert deep["directory depth"] > 0.5
    assert deep["imbalance"] > 0


def test_measures_of_a_repository_as_the_paper_defines_them():
    task = TASKS["dpo/preference_loss"]
    repository = {
        "a.py": b"",
        "pkg/b.py": b"\ndef f():\n    pass",
        "pkg/deep/c.py": b"",
        "pkg/deep/d.py": b"",
        "data/e.csv": b"",
    }
    target = Target(file="pkg/b.py", qualname="f")
    made = task.model_copy(update={"files": replace(task.files, repository=repository), "targets": (target,)})
    found = paper_structure(made)
    # Files at 1, 2, 3, 3 and 2 edges from the root; pkg and data at 1, pkg/deep at 2.
    assert found["directory depth"] == pytest.approx((1 + 2 + 3 + 3 + 2 + 1 + 1 + 2) / 8)
    # Two subfolders of the root, one of pkg, none of the two others.
    assert found["branching"] == pytest.approx(3 / 4)
    assert found["goal length"] == 3
    flat = paper_structure(task)
    assert (flat["directory depth"], flat["branching"]) == (1, 0)
    assert flat["imbalance"] == structure(task)["imbalance"]
    assert flat["goal length"] == len(task.files.repository["trainers.py"].splitlines())


def test_few_papers_are_a_caution():
    noise = np.random.default_rng(5).normal(size=len(TASKS))
    found = regression(grades_of({"one": lambda _, place: noise[place] > 0}), TASKS, paper_structure)
    assert found.problem == ""
    assert found.caution.startswith("standard errors are clustered by 23 papers; with fewer than 40 clusters")
    assert found.caution.endswith("p values of the 5 coefficients are too small")


def test_coefficients_and_errors_as_statsmodels_has_them():
    generator = np.random.default_rng(3)
    noise = generator.normal(size=(2, len(TASKS)))
    found = regression(
        grades_of(
            {
                "one": lambda shape, place: noise[0, place] + 0.02 * (shape["goal length"] - 25) > 0,
                "two": lambda shape, place: noise[1, place] > -0.5,
            }
        ),
        TASKS,
    )
    assert found.problem == ""
    assert (found.answers, found.papers) == (2 * len(TASKS), len({task.paper.slug for task in TASKS.values()}))
    rows = []
    for row, system in enumerate(("one", "two")):
        for place, task in enumerate(TASKS.values()):
            shape = structure(task)
            passed = noise[0, place] + 0.02 * (shape["goal length"] - 25) > 0 if row == 0 else noise[1, place] > -0.5
            rows.append({**shape, "two": float(system == "two"), "paper": task.paper.slug, "correct": float(passed)})
    frame = pd.DataFrame(rows)
    measures = frame[["directory depth", "branching", "imbalance", "goal length"]]
    inputs = sm.add_constant(pd.concat([(measures - measures.mean()) / measures.std(ddof=0), frame["two"]], axis=1))
    groups = frame["paper"].astype("category").cat.codes.to_numpy()
    fit = sm.Logit(frame["correct"], inputs).fit(disp=0, cov_type="cluster", cov_kwds={"groups": groups})
    assert [item.name for item in found.coefficients] == ["constant", *measures.columns, "two"]
    assert [item.value for item in found.coefficients] == pytest.approx(list(fit.params), rel=1e-4)
    assert [item.error for item in found.coefficients] == pytest.approx(list(fit.bse), rel=1e-4)


def test_the_command_prints_coefficients_or_the_reason(tmp_path):
    for name, passes in (("some", lambda shape, place: place % 3 == 0), ("all", lambda *_: True)):
        (tmp_path / name).mkdir()
        lines = "".join(item.model_dump_json() + "\n" for item in grades_of({"one": passes}))
        (tmp_path / name / "grades.jsonl").write_text(lines)
    shown = CliRunner().invoke(app, ["analyse", "structure", str(tmp_path / "some")])
    assert shown.exit_code == 0, shown.output
    for title in ("the paper's measures", "our measures"):
        assert f"Logistic regression of passing on repository structure ({title})" in shown.output
    assert shown.output.count("28 answers, 23 papers") == 2
    assert shown.output.count("errors are clustered by 23 papers") == 1
    found = json.loads(CliRunner().invoke(app, ["analyse", "structure", str(tmp_path / "some"), "--json"]).stdout)
    values = [[item["value"] for item in found[name]["coefficients"]] for name in ("paper", "ours")]
    assert len(values[0]) == len(values[1]) == 5
    assert values[0] != values[1]
    shown = CliRunner().invoke(app, ["analyse", "structure", str(tmp_path / "all")])
    reason = "not defined: all answers pass (28 answers, 23 papers)"
    assert shown.output.splitlines() == [f"the paper's measures: {reason}", f"our measures: {reason}"]


def test_where_there_is_no_regression_the_reason_is_said():
    def problem(outcomes, tasks=TASKS):
        found = regression(grades_of(outcomes), tasks)
        assert found.coefficients == ()
        return found.problem

    assert problem({"one": lambda *_: True}) == "all answers pass"
    assert problem({"one": lambda *_: False}) == "no answer passes"
    assert "separate" in problem({"one": lambda shape, _: shape["goal length"] > 25})
    few = {name: task for name, task in TASKS.items() if task.paper.slug in ("dpo", "hit", "nsa")}
    few_lengths = sorted(structure(task)["goal length"] for task in few.values())
    assert "too few" in problem({"one": lambda shape, _: shape["goal length"] > few_lengths[1]}, few)
    one = {name: task for name, task in TASKS.items() if task.paper.slug == "dpo"}
    assert "fewer than two papers" in problem({"one": lambda *_: True}, one)
    assert "fewer than two papers" in problem({}, TASKS)


def test_separation_is_told_from_overlap():
    rows = np.column_stack([np.ones(6), [0, 1, 2, 3, 4, 5]])
    assert _separated(rows, np.array([0, 0, 0, 1, 1, 1.0]))
    # Only one value has both outcomes: still without a maximum.
    assert _separated(np.vstack([rows, [1, 2]]), np.array([0, 0, 0, 1, 1, 1, 1.0]))
    assert not _separated(rows, np.array([0, 0, 1, 0, 1, 1.0]))
