"""Runs of one system under several inputs, against scipy and statsmodels, and where there is nothing to compare."""

import json

import numpy as np
import pytest
from scipy.stats import binomtest
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import proportion_confint
from typer.testing import CliRunner

from lmrbench.cli import app
from lmrbench.errors import LmrbenchError, RecordError, UsageError
from lmrbench.report.statistics import sign_flip_p

INPUTS = ("full", "paper+file", "paper")
TASKS = [f"p{number // 2}/{number}" for number in range(20)]


@pytest.fixture
def ablate(grade, usage, write_run, tmp_path):
    """Writes runs, each of a system, inputs, and the answers to each of its tasks; what the command prints of them."""

    def called(runs, *options, **settings):
        folders = []
        for number, (system, inputs, passed) in enumerate(runs):
            grades = [
                grade(system, task, bool(ok), k) for task, of_task in passed.items() for k, ok in enumerate(of_task)
            ]
            # One that the machinery left unanswered.
            lost = [usage(system, "lost/one", "provider_error")]
            named = {"model": "org/model", "system": system, "inputs": inputs, **settings.get(inputs, {})}
            folders.append(write_run(tmp_path / f"run{number}", grades, lost, **named))
        result = CliRunner().invoke(app, ["analyse", "ablation", *folders, *options])
        if isinstance(result.exception, LmrbenchError):
            raise result.exception
        assert result.exit_code == 0, result.output
        return result.stdout, result.stderr

    return called


def drawn(chances, seed):
    """Whether each task passes under each inputs, once; {task: [passed]} by inputs."""
    generator = np.random.default_rng(seed)
    return {
        inputs: {task: [bool(ok)] for task, ok in zip(TASKS, generator.random(20) < chance, strict=True)}
        for inputs, chance in zip(INPUTS, chances, strict=True)
    }


def test_two_systems_with_all_inputs_as_the_libraries_have_them(ablate):
    systems = {"me": drawn((0.9, 0.6, 0.2), 1), "you": drawn((0.8, 0.5, 0.4), 2)}
    # One run lacks a task, which is then compared under none of the inputs.
    del systems["me"]["paper"]["p3/7"]
    # The runs are named in another order than that of the inputs.
    runs = [(system, inputs, of_system[inputs]) for inputs in INPUTS[::-1] for system, of_system in systems.items()]

    found = json.loads(ablate(runs, "--json")[0])

    assert [(item["system"], item["tasks"], item["problem"]) for item in found] == [("me", 19, ""), ("you", 20, "")]
    ps = []
    for item in found:
        passed = systems[item["system"]]
        common = [task for task in TASKS if item["system"] == "you" or task != "p3/7"]
        assert list(item["rates"]) == list(INPUTS)
        for inputs, rate in item["rates"].items():
            passes = sum(passed[inputs][task][0] for task in common)
            assert (rate["tasks"], rate["passes"], rate["unanswered"]) == (len(common), passes, 0)
            interval = proportion_confint(passes, len(common), method="wilson")
            assert (rate["low"], rate["high"]) == pytest.approx(interval)
        assert [(pair["first"], pair["second"]) for pair in item["differences"]] == [
            ("full", "paper+file"), ("full", "paper"), ("paper+file", "paper")
        ]  # fmt: skip
        for pair in item["differences"]:
            of_tasks = [passed[pair["first"]][task][0] - passed[pair["second"]][task][0] for task in common]
            wins, losses = of_tasks.count(1), of_tasks.count(-1)
            assert (pair["test"], pair["tasks"], pair["wins"], pair["losses"]) == ("McNemar", len(common), wins, losses)
            assert pair["difference"]["mean"] == pytest.approx(np.mean(of_tasks))
            assert pair["p"] == pytest.approx(binomtest(wins, wins + losses).pvalue)
            ps.append(pair["p"])
    held = [pair["p_holm"] for item in found for pair in item["differences"]]
    assert held == pytest.approx(multipletests(ps, method="holm")[1])


def test_several_answers_flip_the_signs_of_papers(ablate):
    full = {"a/1": [1, 1], "a/2": [1, 0], "b/1": [1, 1], "c/1": [1, 1]}
    paper = {"a/1": [0, 0], "a/2": [0, 0], "b/1": [1, 0], "c/1": [1, 1]}
    (found,) = json.loads(ablate([("me", "full", full), ("me", "paper", paper)], "--json")[0])
    (pair,) = found["differences"]
    assert (pair["test"], pair["difference"]["mean"]) == ("sign-flip", 0.5)
    # By hand: of the sums 1.5, 0.5 and 0 of three papers, four of eight flips are as far from zero.
    assert pair["p"] == sign_flip_p({"a/1": 1, "a/2": 0.5, "b/1": 0.5, "c/1": 0}) == 0.5


def test_the_tables(ablate):
    passed = drawn((0.9, 0.6, 0.2), 1)
    shown, _ = ablate([("me", inputs, passed[inputs]) for inputs in INPUTS])
    rows = [line.split() for line in shown.splitlines()]
    for inputs in INPUTS:
        passes = sum(of_task[0] for of_task in passed[inputs].values())
        assert ["me", inputs, "20", f"{passes}/20", f"{passes / 20:.1%}"] in [row[:5] for row in rows]
    assert ["me", "full", "paper"] in [row[:3] for row in rows]
    assert "nan" not in shown.lower()


def test_what_can_not_be_compared_is_a_sentence(ablate):
    one = {task: [True] for task in TASKS}
    shown, _ = ablate([("me", "full", one), ("you", "paper", {"a/1": [True]}), ("you", "full", {"a/2": [True]})])
    assert shown.splitlines() == [
        "me: not defined: only one run, with inputs full",
        "you: not defined: no task was answered under every choice of inputs (full, paper)",
    ]


def test_grades_of_another_system_in_the_folder_are_not_counted(grade, write_run, tmp_path):
    full = [grade("me", "a/1", True), grade("golden", "b/1", True)]
    runs = [
        write_run(tmp_path / "full", full, model="m", system="me"),
        write_run(tmp_path / "paper", full, model="m", system="me", inputs="paper"),
    ]
    (found,) = json.loads(CliRunner().invoke(app, ["analyse", "ablation", *runs, "--json"]).stdout)
    assert (found["tasks"], found["rates"]["full"]["answers"]) == (1, 1)


def test_two_runs_with_the_same_inputs_are_refused(ablate):
    one = {"a/1": [True]}
    with pytest.raises(
        UsageError, match=r"run0 and \S*run2: both contain answers of me with inputs paper; name only one of them"
    ):
        ablate([("me", "paper", one), ("me", "full", one), ("me", "paper", one)])


def test_other_settings_that_differ_are_said(ablate):
    one = {"a/1": [True], "b/1": [False]}
    runs = [("me", "full", one), ("me", "paper", one)]
    _, said = ablate(runs, paper={"setting": "agent", "temperature": 0.5, "samples": 3, "connections": 2})
    assert (
        "me: the runs also differ in setting, temperature; differences in rates may not be due to the inputs\n" in said
    )


def test_runs_whose_inputs_are_not_known_are_refused(grade, write_run, tmp_path):
    foreign = write_run(tmp_path / "foreign", [grade("golden", "a/1", True)])
    result = CliRunner().invoke(app, ["analyse", "ablation", foreign])
    assert isinstance(result.exception, UsageError)
    assert str(result.exception) == (f"{foreign}: no inputs recorded; name a run of a model (`lmrbench run --model`)")
    damaged = write_run(tmp_path / "damaged", [grade("me", "a/1", True)], model="m", system="me")
    facts = json.loads((tmp_path / "damaged" / "run.json").read_text())
    facts["solving"]["inputs"] = "everything"
    (tmp_path / "damaged" / "run.json").write_text(json.dumps(facts))
    result = CliRunner().invoke(app, ["analyse", "ablation", damaged])
    assert isinstance(result.exception, RecordError)
    assert str(result.exception).startswith(f"{damaged}/run.json: solving.inputs: Input should be 'full', ")
