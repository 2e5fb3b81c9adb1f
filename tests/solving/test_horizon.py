"""`lmrbench horizon`: tasks are chosen as answers come in, and the interval holds the true horizon."""

import json
import math
import random

import pytest
from tests import toy
from tests.solving.helpers import MODEL, lmrbench, replies_of
from tests.solving.server import Reply, serving

from lmrbench.report.adaptive import Budget, measured
from lmrbench.report.horizon import Outcome
from lmrbench.runs.folder import read_run
from lmrbench.tasks.loading import load_suite
from lmrbench.tasks.model import DrawId
from lmrbench.tasks.tiers.forensic import LADDER, draw_id

STAGES, EACH = ("first", "second", "third", "fourth"), 4
# Each setting of a stage is 1 or, if it was changed, 2. The metric of a stage tells which ones are.
SETTINGS = "\n".join(f"{stage.upper()}_{place} = 1" for stage in STAGES for place in range(EACH))
EXPERIMENT = f'''"""Sums settings."""

{SETTINGS}


def run(seed: int = 0) -> dict[str, dict[str, float]]:
    """The sum of the settings of each stage."""
    settings = globals()
    return {{
        stage: {{"sum": seed + sum(2.0**place * settings[f"{{stage.upper()}}_{{place}}"] for place in range({EACH}))}}
        for stage in {STAGES}
    }}
'''
# What an agent runs that reads the changes off the logs, and finds at most MOST of them.
AGENT = f"""
import json, subprocess, sys
subprocess.run([sys.executable, "replay.py"], cwd="/workspace", check=True)
logs = json.load(open("/workspace/results.json"))["0"]
file = "/workspace/repo/experiment.py"
text, found = open(file).read(), 0
for stage, metrics in logs.items():
    for place in range({EACH}):
        if (int(metrics["sum"]) - (2**{EACH} - 1)) >> place & 1:
            found += 1
            text = text.replace(f"{{stage.upper()}}_{{place}} = 1", f"{{stage.upper()}}_{{place}} = 2")
if found <= MOST:
    open(file, "w").write(text)
"""


@pytest.fixture
def suite(tmp_path):
    """Two papers whose pools have deviations of four stages."""
    suite = toy.copy_to(tmp_path / "suite")
    toy.add_paper(suite, "other")
    for paper in ("toy", "other"):
        (suite / paper / "repo" / "experiment.py").write_text(EXPERIMENT)
        (suite / paper / "deviations.toml").write_text(
            "".join(
                f'[deviation.{stage}_{place}]\nstage = "{stage}"\nfile = "experiment.py"\nwhy = "Another setting."\n'
                'allowed_by = "The paper does not say."\n'
                f'old = "{stage.upper()}_{place} = 1"\nnew = "{stage.upper()}_{place} = 2"\n'
                for stage in STAGES
                for place in range(EACH)
            )
        )
    return suite


@pytest.mark.sandbox
def test_an_agent_that_finds_three_changes_has_a_horizon_near_three_and_a_run_grows(suite, tmp_path):
    code = AGENT.replace("MOST", "3")

    def script(request):
        return Reply(tool=[("python", {"code": code}), ("submit", {"answer": "done"})][min(replies_of(request), 1)])

    def run(*words):
        done = lmrbench(base, "horizon", "-m", MODEL, "--suite", suite, "--out", tmp_path / "run", *words)
        assert done.returncode == 0, done.stderr
        return done.stdout

    with serving(script) as (base, _):
        said = run("--tasks", "6", "--batch", "3")
        lines = [line for line in said.splitlines() if "; horizon: " in line]
        assert [line.split(";")[0] for line in lines] == ["tasks: 3", "tasks: 6"]
        assert " horizon\n" in said
        found = json.loads(run("--tasks", "8", "--batch", "8", "--json").partition("\n")[2])
    stored = read_run(tmp_path / "run")
    grades = stored.grades
    # The agent runs the repository under the three published seeds.
    assert {item.runs for item in stored.usages} == {3}
    assert len({item.task for item in grades}) == len(grades) == 8
    draws = {draw_id(item.task.partition("/")[2]): item.correct for item in grades}
    assert all(correct == (draw.count <= 3) for draw, correct in draws.items())
    assert {draw.entangled for draw in draws} == {True, False}
    assert {item.task.partition("/")[0] for item in grades} == {"toy", "other"}
    [horizon] = found["horizons"]
    assert horizon["tasks"] == 8
    assert horizon["low"] < 4
    assert horizon["high"] > 3


def scripted(k50, generator, slope=2.0):
    """Return a system that answers at random, and whose true curve is known."""

    def answer(draws):
        return [
            Outcome(task.paper.slug, draw.count, float(generator.random() < 1 / (1 + (draw.count / k50) ** slope)))
            for task, draw in draws
        ]

    return answer


def test_the_interval_holds_the_true_horizon_in_19_of_20_repetitions(suite):
    papers = {task.paper.slug: task for task in load_suite(suite)}
    held = []
    for seed in range(20):
        generator = random.Random(seed)
        k50 = math.exp(generator.uniform(math.log(1), math.log(10)))
        budget = Budget(tasks=16, width=None, batch=4)
        *_, last = measured("me", [], papers, 0, budget, lambda *_: True, scripted(k50, generator))
        assert last.tasks == 16
        held.append(last.low <= k50 <= last.high)
    assert sum(held) >= 19


def test_it_stops_when_the_interval_is_narrow_or_nothing_is_answered(suite):
    papers = {task.paper.slug: task for task in load_suite(suite)}
    answer = scripted(3.0, random.Random(1), slope=8.0)
    asked: list[list[DrawId]] = []

    def watched(draws):
        asked.append([draw for _, draw in draws])
        return answer(draws)

    *_, last = measured("me", [], papers, 7, Budget(200, 5.0, 8), lambda *_: True, watched)
    assert last.high / last.low <= 5.0
    assert last.tasks == 8 * len(asked) < 200
    # No draw comes twice.
    assert sorted(draw.seed for batch in asked for draw in batch) == list(range(7, 7 + last.tasks))
    assert list(measured("me", [], papers, 0, Budget(8, None, 4), lambda *_: True, lambda draws: [])) == []


def test_a_smaller_draw_takes_the_place_of_one_that_is_not_fair(suite):
    papers = {task.paper.slug: task for task in load_suite(suite)}
    asked: list[int] = []

    def answer(draws):
        asked.extend(draw.count for _, draw in draws)
        return [Outcome(task.paper.slug, draw.count, 1.0) for task, draw in draws]

    assert max(LADDER) > 4
    list(measured("me", [], papers, 0, Budget(12, None, 4), lambda _, draw: draw.count <= 4, answer))
    assert max(asked) == 4
    assert not list(measured("me", [], papers, 0, Budget(12, None, 4), lambda *_: False, answer))
