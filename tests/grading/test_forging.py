"""Forensic tasks: what a changed program logs tells which changes it holds, and an answer that makes them passes."""

import json
import subprocess
import sys

import pytest
from tests.graded import graded
from typer.testing import CliRunner

from lmrbench.authoring.new.masking import write_files
from lmrbench.cli import app
from lmrbench.errors import TaskError, UsageError
from lmrbench.grading.forging import effects, fair_draw, forged
from lmrbench.grading.reading import read_in_one_layout
from lmrbench.grading.searching import searched
from lmrbench.sandbox.registry import open_pool
from lmrbench.solving.prompts import prompt_message
from lmrbench.solving.scoring import SuiteTasks
from lmrbench.tasks.loading import load_suite
from lmrbench.tasks.model import Draw, DrawId
from lmrbench.tasks.selection import select_with_draws
from lmrbench.tasks.submission import Submission
from lmrbench.tasks.tiers.forensic import chosen, deviation_pool, share_found
from lmrbench.tasks.workspace import workspace_files

pytestmark = pytest.mark.sandbox

EXPERIMENT = '''
"""Blends random values."""

from random import Random

from blending import Blender

RATE = 0.5
COUNT = 6
LARGE = 0.5


def run(seed: int = 0) -> dict[str, dict[str, float]]:
    """Random values, two blends with their ratio, and the share of large values."""
    draws = Random(seed)
    values = [draws.random() for _ in range(COUNT)]
    first = Blender(2.0).blend(values)
    second = Blender(2.0).blend([value * RATE for value in values[1:]])
    return {
        "values": {"mean": sum(values) / COUNT},
        "blends": {"first": first, "second": second, "ratio": first / second},
        "rates": {"large": sum(value > LARGE for value in values) / COUNT},
    }
'''
POOL = """
draws = [{ count = 2, seed = 6, attempt = 0 }]
[trains]
"blends/first" = [0.0, 3.0]
[deviation.rate]
stage = "blends"
file = "experiment.py"
why = "Another rate."
allowed_by = "The paper does not say."
old = "RATE = 0.5"
new = "RATE = 0.25"
[deviation.faster]
stage = "blends"
file = "experiment.py"
why = "A rate above one."
allowed_by = "The paper does not say."
old = "RATE = 0.5"
new = "RATE = 1.25"
[deviation.count]
stage = "values"
file = "experiment.py"
why = "More values."
allowed_by = "The paper does not say."
old = "COUNT = 6"
new = "COUNT = 8"
[deviation.never_zero]
stage = "values"
file = "experiment.py"
why = "Values from one half on."
allowed_by = "The paper does not say."
old = "    values = [draws.random() for _ in range(COUNT)]"
new = "    values = [draws.uniform(0.5, 1.0) for _ in range(COUNT)]"
[deviation.from_zero]
stage = "blends"
file = "weighting.py"
why = "Weights from zero."
allowed_by = "The paper does not say."
old = "    return [float(position + 1) for position in range(count)]"
new = "    return [float(position) for position in range(count)]"
[deviation.squares]
stage = "blends"
file = "weighting.py"
why = "Squares."
allowed_by = "The paper does not say."
old = "    return [float(position + 1) for position in range(count)]"
new = "    return [float(position + 1) ** 2 for position in range(count)]"
"""
BAD = """
[deviation.silent]
stage = "blends"
file = "blending.py"
why = "What nobody sees."
allowed_by = "The paper does not say."
old = "            return 0.0"
new = "            return 1.0"
[deviation.quarter]
stage = "blends"
file = "experiment.py"
why = "The rate, said otherwise."
allowed_by = "The paper does not say."
old = "    second = Blender(2.0).blend([value * RATE for value in values[1:]])"
new = "    second = Blender(2.0).blend([value / 4 for value in values[1:]])"
[deviation.broken]
stage = "blends"
file = "experiment.py"
why = "Divides by nothing."
allowed_by = "The paper does not say."
old = '        "blends": {"first": first, "second": second, "ratio": first / second},'
new = '        "blends": {"first": first, "second": second, "ratio": first / 0},'
[deviation.loud]
stage = "blends"
file = "blending.py"
why = "Far too large."
allowed_by = "The paper does not say."
old = "        self.scale = scale"
new = "        self.scale = scale * 100"
[deviation.early]
stage = "blends"
file = "experiment.py"
why = "Other values."
allowed_by = "The paper does not say."
old = "    draws = Random(seed)"
new = "    draws = Random(seed + 1)"
[deviation.counted]
stage = "rates"
file = "experiment.py"
why = "Smaller values are large."
allowed_by = "The paper does not say."
old = "LARGE = 0.5"
new = "LARGE = 0.1"
"""


@pytest.fixture
def suite(suite):
    (suite / "toy" / "repo" / "experiment.py").write_text(EXPERIMENT)
    (suite / "toy" / "deviations.toml").write_text(POOL)
    return suite


def task_of(suite, pool=POOL):
    (suite / "toy" / "deviations.toml").write_text(pool)
    return load_suite(suite)[0]


def answer(task, **edits):
    """The goal files with some edits, by file: what stands there, and what takes its place."""
    files = {path: data.decode() for path, data in task.files.shown.items()}
    for name, (old, new) in edits.items():
        assert old in files[f"{name}.py"]
        files[f"{name}.py"] = files[f"{name}.py"].replace(old, new)
    return Submission(system="me", task=task.id, code=files)


def test_who_makes_the_changes_passes_and_who_makes_one_of_two_has_found_half(suite):
    base = task_of(suite)
    draw = next(iter(deviation_pool(base).draws))
    names = chosen(base, deviation_pool(base), draw)
    edits = {item.file.removesuffix(".py"): (item.old, item.new) for item in names.values()}
    # Nothing that Python's parser takes, and what works on its trees does not, may end the grading of all.
    hostile = {"digits": f"x = 0x{'f' * 5000}", "terms": "+".join(["a"] * 900), "attributes": ".".join(["a"] * 800)}
    with open_pool("bubblewrap", (), 1) as workers:
        task = forged(base, DrawId(2, 6), workers)
        assert set(task.draw.deviations) == set(names)
        submissions = [
            answer(task, **edits).model_copy(update={"system": "both"}),
            answer(task, **dict([next(iter(edits.items()))])).model_copy(update={"system": "one"}),
            answer(task).model_copy(update={"system": "none"}),
            Submission(system="text", task=task.id, code="RATE = 0.25"),
            answer(task, experiment=("RATE = 0.5", "RATE = (")).model_copy(update={"system": "broken"}),
            *(
                answer(task, experiment=("RATE = 0.5", f"RATE = 0.5\nif COUNT < 0:\n    {code}")).model_copy(
                    update={"system": name}
                )
                for name, code in hostile.items()
            ),
        ]
        found = {item.system: item for item in graded(submissions, {task.id: task}, (7,), workers)}
    assert {name: item.correct for name, item in found.items()} == {
        "both": True,
        "one": False,
        "none": False,
        "text": False,
        "broken": False,
        **dict.fromkeys(hostile, False),
    }
    assert {name: item.found for name, item in found.items()} == {
        "both": 1.0,
        "one": 0.5 if len(edits) == 2 else found["one"].found,
        "none": 0.0,
        "text": 0.0,
        "broken": 0.0,
        **dict.fromkeys(hostile, 0.0),
    }
    assert "submit each of these files whole" in found["text"].cases[0].reason
    assert "experiment.py: line" in found["broken"].cases[0].reason
    assert found["both"].blinded().found is None


def test_a_workspace_holds_the_logs_and_the_faithful_repository_and_no_change(suite):
    base = task_of(suite)
    with open_pool("bubblewrap", (), 1) as workers:
        task = forged(base, DrawId(2, 6), workers)
    files = workspace_files(task, "full")
    assert {name.removeprefix("repo/"): data for name, data in files.items() if name.startswith("repo/")} == dict(
        base.files.repository
    )
    logs = json.loads(files["results.json"])
    assert list(logs) == ["0", "1", "2"]
    assert {stage: set(metrics) for stage, metrics in logs["0"].items()} == {
        "values": {"mean"},
        "blends": {"first", "second", "ratio"},
        "rates": {"large"},
    }
    text = b"\n".join(files.values()).decode()
    made = deviation_pool(base).deviation
    assert not any(made[name].new in text or made[name].why in text for name in task.draw.deviations)
    with pytest.raises(UsageError, match="--setting agent"):
        prompt_message(task, "full", "summary", 1000)


def test_replay_shows_for_each_stage_what_agrees_and_counts_the_runs_of_all_variants(suite, tmp_path):
    base = task_of(suite)
    with open_pool("bubblewrap", (), 1) as workers:
        task = forged(base, DrawId(2, 6), workers)
    write_files(tmp_path / "work", workspace_files(task, "full"))
    found = deviation_pool(base).deviation
    for name in ("count", "broken"):
        files = dict(base.files.repository)
        item = found["count"]
        files[item.file] = files[item.file].replace(item.old.encode(), item.new.encode())
        if name == "broken":
            files[item.file] += b"\nraise OSError('no disk')\n"
        write_files(tmp_path / "work" / "variants" / name, files)

    def replay(*words):
        done = subprocess.run(
            [sys.executable, "replay.py", *words], cwd=tmp_path / "work", capture_output=True, text=True, check=True
        )
        return done.stdout.splitlines()

    lines = replay()
    assert [line for line in lines if not line.startswith(" ")] == [f"repo, seed {seed}" for seed in (0, 1, 2)]
    assert [line.split(":")[0].strip() for line in lines[:3]] == ["repo, seed 0", "values", "mean"]
    assert "  values: 0 of 1 metrics agree" in lines
    both = replay("variants/count", "variants/broken")
    assert both[:3] == ["count, seed 0", "  values: 1 of 1 metrics agree", "  blends: 0 of 3 metrics agree"]
    assert "  rates: 1 of 1 metrics agree (not graded)" in both
    assert any("OSError: no disk" in line for line in both[both.index("broken, seed 0") :])
    assert (tmp_path / "work" / "replay.count").read_text().split() == ["run"] * 5


def drawn(task, count, seed=0, entangled=False):
    return tuple(chosen(task, deviation_pool(task), Draw(count=count, seed=seed, entangled=entangled)))


def test_a_draw_is_a_function_of_its_numbers_and_changes_no_line_twice(suite):
    task = task_of(suite)
    draws = {drawn(task, 4, seed) for seed in range(40)}
    assert draws == {drawn(task, 4, seed) for seed in range(40)}
    assert len(draws) == 4
    assert not any({"rate", "faster"} <= set(draw) or {"from_zero", "squares"} <= set(draw) for draw in draws)
    with pytest.raises(UsageError, match="fewer than 5 deviations that can be combined"):
        drawn(task, 5)


def test_an_entangled_draw_takes_what_it_can_from_one_stage_and_others_from_as_many_as_possible(suite):
    task = task_of(suite)
    pool = deviation_pool(task).deviation

    def stages(entangled):
        return {tuple(sorted(pool[name].stage for name in drawn(task, 2, seed, entangled))) for seed in range(20)}

    assert stages(entangled=False) == {("blends", "values")}
    assert stages(entangled=True) == {("blends", "blends"), ("values", "values")}


def test_what_is_wrong_with_a_deviation_is_said(suite):
    task = task_of(suite, POOL + BAD)
    with open_pool("bubblewrap", (), 1) as workers:
        found = {item.name: item for item in effects(task, workers)}
    assert found["silent"].fault == "changes no metric"
    assert found["counted"].fault == "changes no metric"
    assert found["broken"].fault == "does not run"
    assert found["loud"].fault.startswith("does not train: blends/first is")
    assert found["quarter"].fault == "gives the same logs as rate"
    assert found["early"].fault == "first affects the stage 'values', not 'blends'"
    assert (found["rate"].moved, found["rate"].metrics) == (("blends/second", "blends/ratio"), 4)
    assert [found[name].fault for name in ("faster", "count", "never_zero", "from_zero", "squares")] == [""] * 5


def test_an_experiment_must_return_its_metrics_by_stage(suite):
    flat = EXPERIMENT[: EXPERIMENT.index("    return {")] + '    return {"first": first, "second": second}\n'
    (suite / "toy" / "repo" / "experiment.py").write_text(flat)
    with open_pool("bubblewrap", (), 1) as workers, pytest.raises(TaskError, match="does not return metrics by stage"):
        effects(load_suite(suite)[0], workers)


def test_an_unfair_draw_is_refused_with_the_reason(suite):
    # Whoever sees the logs of one of these can't tell whether it is the other.
    task = task_of(suite, POOL + BAD)
    refused = {}
    with open_pool("bubblewrap", (), 1) as workers:
        for seed in range(20):
            draw = fair_draw(
                task,
                deviation_pool(task),
                DrawId(1, seed),
                workers,
                refused=lambda draw, why: refused.update({draw.deviations[0]: why}),
            )
            assert draw.deviations[0] in ("faster", "count", "never_zero", "from_zero", "squares")
            # The faithful program, and at most all changes of the same stage.
            assert draw.witness is not None
            assert 1 < draw.witness <= 10
        silent = deviation_pool(task_of(suite, BAD.partition("[deviation.quarter]")[0]))
        with pytest.raises(TaskError, match="none of 100 draws is fair"):
            fair_draw(task, silent, DrawId(1, 0), workers)
    reasons = {
        "broken": "does not run",
        "quarter": "rate gives the same logs as quarter",
        "rate": "quarter gives the same logs as rate",
        "loud": "does not train",
        "early": "already affects the stage 'values'",
        "silent": "the unchanged program gives the same logs",
        "counted": "the experiment has no stage for this deviation",
    }
    assert len(refused) > 3
    assert all(reasons[name] in why for name, why in refused.items()), refused


def test_a_draw_whose_search_takes_too_many_runs_is_refused_without_one(suite):
    many = "".join(
        f'[deviation.rate_{number}]\nstage = "blends"\nfile = "experiment.py"\nwhy = "Another rate."\n'
        f'allowed_by = "The paper does not say."\n'
        f'old = "RATE = 0.5"\nnew = "RATE = 0.{number}"\n'
        for number in range(51, 99)
    )
    task = task_of(suite, POOL + many)
    refused = []
    with open_pool("bubblewrap", (), 1) as workers:
        for seed in range(4):
            wanted = DrawId(2, seed, entangled=True)
            draw = fair_draw(task, deviation_pool(task), wanted, workers, refused=lambda draw, why: refused.append(why))
            assert set(draw.deviations) == {"count", "never_zero"}
    assert refused
    assert all("the search may take 1,379 runs, more than 1,000" in why for why in refused)


def test_the_same_change_in_another_layout_is_found(suite):
    base = task_of(suite)
    with open_pool("bubblewrap", (), 1) as workers:
        task = forged(base, DrawId(2, 6), workers)
    files = dict(task.files.shown)
    for name in task.draw.deviations:
        item = deviation_pool(base).deviation[name]
        files[item.file] = files[item.file].replace(item.old.encode(), (item.new + "  # changed").encode())
    assert share_found(task, read_in_one_layout(files)) == 1.0
    assert share_found(task, {}) == 0.0


@pytest.mark.parametrize(
    ("pool", "said"),
    [
        ("", "there is no such file"),
        ("[deviation.x]\n", "deviation.x"),
        (POOL.replace('"weighting.py"', '"nowhere.py"'), "there is no file repo/nowhere.py"),
        (POOL.replace('old = "COUNT = 6"', 'old = "COUNT = 7"'), "must occur once in the text, not 0 times"),
        (POOL.replace('new = "COUNT = 8"', 'new = "COUNT = ("'), "deviation.count"),
        (POOL + "\nspeed = 1\n", "speed"),
    ],
)
def test_a_bad_pool_is_one_line_that_names_what_is_wrong(suite, pool, said):
    with pytest.raises(TaskError, match=r"deviations\.toml") as raised:
        deviation_pool(task_of(suite, pool))
    assert said in str(raised.value)
    assert "\n" not in str(raised.value)


def test_which_tasks_and_draws_are_meant(suite):
    tasks = load_suite(suite)

    def named(patterns, tier="function", fresh=None):
        listed, draws = select_with_draws(tasks, patterns, tier, fresh)
        return [task.id for task in listed], [(task.id, draw) for task, draw in draws]

    assert named([]) == (["toy/blend"], [])
    assert named([], "forensic") == ([], [("toy/blend", DrawId(2, 6))])
    assert named(["toy"], "forensic", 9) == (
        [],
        [("toy/blend", DrawId(count, 9, place % 2 == 1)) for place, count in enumerate((1, 2, 3, 4, 6, 8, 12))],
    )
    assert named(["toy/forensic_1_3"]) == ([], [("toy/blend", DrawId(1, 3))])
    assert named(["toy/forensic_1_3_entangled"]) == ([], [("toy/blend", DrawId(1, 3, True))])
    assert named(["toy/forensic_1_3", "toy"]) == (["toy/blend"], [("toy/blend", DrawId(1, 3))])
    with pytest.raises(TaskError, match="no paper is named 'nobody'"):
        named(["nobody/forensic_1_3"])
    with pytest.raises(TaskError, match="no task is named 'nobody'"):
        named(["nobody"], "forensic")


def test_an_evaluation_makes_the_task_of_a_draw_that_it_is_asked_for(suite):
    tasks = SuiteTasks(suite)
    assert tasks["toy/forensic_2_6"].tier == "forensic"
    with pytest.raises(KeyError):
        tasks["toy/nothing"]


def test_the_whole_way_on_the_command_line(suite, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def run(*words):
        result = CliRunner().invoke(app, [*map(str, words), "--suite", str(suite)])
        assert result.exception is None, result.output
        return result.output

    assert "6 deviations" in run("task", "forge", "toy")
    drawn = json.loads(run("task", "forge", "toy", "-k", 2, "--seed", 6, "--json"))
    assert len(drawn["deviations"]) == 2
    assert "toy/forensic_2_6" in run("list", "--tier", "forensic")
    assert "forensic" not in run("list")
    run("export", "toy", "--tier", "forensic", "--to", "work")
    workspace = tmp_path / "work" / "toy" / "forensic_2_6"
    pool = deviation_pool(load_suite(suite)[0])
    for name in drawn["deviations"]:
        item = pool.deviation[name]
        file = workspace / "repo" / item.file
        file.write_text(file.read_text().replace(item.old, item.new))
    run("collect", workspace, "--system", "me")
    assert "100.0%" in run("grade", "submissions.jsonl", "--out", "run")
    assert "correct and robust" in run("why", "run", "toy/forensic_2_6")
    assert "Forensic tasks by number of changes" in run("report", "run", "--markdown", "--full")
    assert "1/1" in run("grade", "--golden", "--mask", "--tier", "forensic", "--out", "built-in")
    run("run", "--tier", "forensic", "--no-report", "--out", "systems")
    first = (tmp_path / "systems" / "submissions.jsonl").read_text()
    systems = [json.loads(line)["system"] for line in first.splitlines()]
    assert sorted(systems) == ["golden", "mask", "nearest", "search"]
    monkeypatch.setattr("lmrbench.runs.answers.searched", lambda *_: pytest.fail("what is found is searched for again"))
    run("run", "--tier", "forensic", "--no-report", "--out", "systems")
    assert (tmp_path / "systems" / "submissions.jsonl").read_text() == first
    refused = CliRunner().invoke(app, ["export", "toy", "--fresh", "3", "--to", "x", "--suite", str(suite)])
    assert "--fresh needs --tier forensic" in str(refused.exception)


def test_the_search_finds_changes_that_generic_edits_make_and_stops_where_none_helps(suite):
    base = task_of(suite)
    pool = deviation_pool(base)

    def is_drawn(names, seed):
        return set(chosen(base, pool, Draw(count=len(names), seed=seed))) == names

    sought = [{"rate"}, {"count"}, {"count", "rate"}]
    draws = [DrawId(len(names), next(seed for seed in range(200) if is_drawn(names, seed))) for names in sought]
    shown = []
    with open_pool("bubblewrap", (), 1) as workers:
        tasks = [forged(base, draw, workers) for draw in draws]
        answers = list(searched(tasks, workers, lambda task, done, total: shown.append((task, done, total))))
        found = list(graded(answers, {task.id: task for task in tasks}, (7,), workers))
    # No generic edit turns six values into eight, and the search goes no further than the first stage it can't explain.
    assert [(item.system, item.correct, item.found) for item in found] == [
        ("search", True, 1.0),
        ("search", False, 0.0),
        ("search", False, 0.0),
    ]
    runs = [int(item.label.removesuffix(" runs")) for item in answers]
    assert all(50 < number < 1000 for number in runs)
    # What single edits log is run once for all tasks of a paper.
    assert sum(total for _, done, total in shown if done == 0) < 2 * max(runs)
