"""`lmrbench grade --speed`, and what `lmrbench report` makes of it."""

import csv
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from lmrbench.cli import app
from lmrbench.errors import UsageError
from lmrbench.grading import speed

pytestmark = pytest.mark.sandbox

TIMED = """

def timed(seed):
    yield {"name": "many values", "values": [float(n) for n in range(1000)], "scale": 2.0}
"""
QUICK = """
def blend(self, values):
    factors = weights(len(values))
    return self.scale * sum(map(float.__mul__, factors, values)) / max(sum(factors), 1.0)
"""


def run(*arguments):
    result = CliRunner().invoke(app, list(map(str, arguments)), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result


@pytest.fixture
def timed(suite, tmp_path, monkeypatch):
    """A folder with a suite whose golden sleeps over its timed input, and with an answer that does not."""
    monkeypatch.setattr(speed, "MOST_SECONDS", 0.0)
    monkeypatch.chdir(tmp_path)
    check, goal = suite / "toy/checks/blend.py", suite / "toy/repo/blending.py"
    check.write_text(check.read_text() + TIMED)
    line = "        factors = weights(len(values))\n"
    sleep = "        __import__('time').sleep(0.06 if len(values) > 100 else 0)\n"
    goal.write_text(goal.read_text().replace(line, sleep + line))
    (tmp_path / "answers.jsonl").write_text(json.dumps({"system": "me", "task": "toy/blend", "code": QUICK}) + "\n")


def test_speeds_are_shown_with_the_grades_and_in_the_report(timed):
    arguments = ("grade", "answers.jsonl", "--suite", "suite", "--seed", 0)
    shown = run(*arguments, "--speed").stdout
    (words,) = [line.split() for line in shown.splitlines() if line.startswith("me ")]
    assert words[:3] == ["me", "toy/blend", "0"]

    # A part of the grade, it stays where nobody asks for it.
    (grade,) = json.loads(run(*arguments, "--json").stdout)["grades"]
    assert grade["timing"]["speed"]["median"] == pytest.approx(float(words[3]), rel=0.01)
    found = json.loads(run("report", "runs/answers", "--json").stdout)["speeds"]["me"]
    assert found["speed"]["mean"] == pytest.approx(grade["timing"]["speed"]["median"])
    run("report", "runs/answers", "--csv", "tables")
    (row,) = csv.DictReader(Path("tables/speed.csv").read_text().splitlines())
    assert (row["system"], row["tasks"], row["over papers low"]) == ("me", "1", "")
    assert f"{float(row['speed']):.3g}" == words[3]


def test_what_can_not_be_timed_is_said(toy_suite, tmp_path):
    none = run("grade", "--golden", "--speed", "--suite", toy_suite, "--out", tmp_path / "none")
    assert none.stderr.startswith("lmrbench: no task with timed inputs has a robust answer")
    with pytest.raises(UsageError, match="--blind and --speed can't be used together"):
        run("grade", "--golden", "--speed", "--blind", "--suite", toy_suite)
