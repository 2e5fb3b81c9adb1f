"""`lmrbench run` with a local server: interrupted runs lose nothing and repeat no request."""

import json
import signal
import time

import pytest
from tests import running
from tests.running import Running
from tests.solving.helpers import (
    GIVEN_UP,
    IN_TWO_FILES,
    MODEL,
    Gate,
    asked_for,
    chosen,
    environment,
    fenced,
    golden,
    goldens,
    lines,
    lmrbench,
    replies_of,
)
from tests.solving.server import COMPLETION_TOKENS, PROMPT_TOKENS, Reply, serving

from lmrbench.runs.places import folders_of_models
from lmrbench.solving.task import lmr_bench

pytestmark = pytest.mark.sandbox

TWO = ("toy", "other")
# More tasks than concurrent requests, one of them with targets in two files.
SEVERAL = ("toy", "other", "paper0", "paper1", IN_TWO_FILES)


def right(request):
    return Reply(fenced(golden(asked_for(request))))


def working_agent(request):
    """Read files, run the repository's experiment, write the answer with Python, and submit."""
    write = f"import pathlib\nfor file, text in {goldens(asked_for(request))!r}.items():\n"
    write += "    print((pathlib.Path('/workspace/repo') / file).write_text(text))"
    steps = [
        ("bash", {"command": "head -3 instruction.md; wc -c < paper.md; ls repo"}),
        ("python", {"code": write}),
        ("submit", {"answer": "done"}),
    ]
    return Reply(tool=steps[replies_of(request)])


def test_a_model_that_knows_the_answers(papers, tmp_path):
    with serving(right) as (base, log):
        result = lmrbench(base, "run", "--model", MODEL, *chosen(papers, *TWO), "--out", tmp_path / "run", "--json")

    assert result.returncode == 0, result.stderr
    report = json.loads(result.stdout)
    assert report["rates"]["all"][MODEL]["correct"] == 1
    assert report["rates"]["all"][MODEL]["low"] == pytest.approx(0.3424, abs=1e-4)
    assert len(log.requests) == 2
    assert all("## Paper" in item.text and "## Instruction" in item.text for item in log.requests)
    usage = lines(tmp_path / "run" / "usage.jsonl")
    assert [item["input_tokens"] for item in usage] == [PROMPT_TOKENS] * 2
    facts = json.loads((tmp_path / "run" / "run.json").read_text())
    assert facts["solving"]["model"] == MODEL
    assert facts["solving"]["inputs"] == "full"


@pytest.mark.parametrize("arguments", [("-M", "stream=true"), ("-M", "responses_api=true"), ()])
def test_failures_of_the_provider_are_no_failures_of_the_model(papers, tmp_path, arguments):
    troubles = [Reply(status=429, retry_after=0.1), Reply(status=500), Reply(drop=True)]

    def script(request):
        return troubles[request.number] if request.number < len(troubles) else right(request)

    with serving(script) as (base, log):
        result = lmrbench(
            base,
            "run",
            "--no-report",
            "--model",
            MODEL,
            *chosen(papers, "toy"),
            "--out",
            tmp_path / "run",
            *arguments,
        )

    assert result.returncode == 0, result.stderr
    assert "1 of 1 answers pass" in result.stdout
    assert len(log.requests) == 4


def test_a_provider_that_never_answers_leaves_the_run_unfinished_and_the_next_call_finishes_it(papers, tmp_path):
    broken = True

    def script(request):
        if broken and asked_for(request) == "toy":
            return Reply(status=400)
        return right(request)

    with serving(script) as (base, log):
        first = lmrbench(base, "run", "--no-report", "--model", MODEL, *chosen(papers, *TWO), "--out", tmp_path / "run")
        asked = len(log.requests)
        broken = False
        second = lmrbench(
            base, "run", "--no-report", "--model", MODEL, *chosen(papers, *TWO), "--out", tmp_path / "run"
        )

    assert first.returncode == 4
    assert "1 of 2 samples have no answer" in first.stderr
    assert "Run the same command again" in first.stderr
    assert second.returncode == 0, second.stderr
    assert "2 of 2 answers pass" in second.stdout
    assert len(log.requests) == asked + 1


def test_several_models_have_a_run_folder_each_and_the_failure_of_one_loses_none_of_the_others(papers, tmp_path):
    broken = f"{MODEL}-broken"

    def script(request):
        return Reply(status=400) if request.body["model"] == "model-broken" else right(request)

    models = ("--model", MODEL, "--model", broken, "--model", f"{MODEL}-2")
    with serving(script) as (base, _):
        result = lmrbench(
            base, "run", *models, *chosen(papers, *TWO), "--limit", 1, "--out", tmp_path / "runs", "--json"
        )

    assert result.returncode == 4, result.stderr
    assert f"lmrbench: {broken}: " in result.stderr
    assert "1 of 1 samples have no answer" in result.stderr
    assert f"{MODEL}:" not in result.stderr
    rates = json.loads(result.stdout)["rates"]["all"]
    assert [rates[name]["correct"] for name in (MODEL, f"{MODEL}-2")] == [1, 1]
    assert sorted(path.name for path in (tmp_path / "runs").iterdir()) == [
        "model-2-prompt",
        "model-broken-prompt",
        "model-prompt",
    ]
    assert len(lines(tmp_path / "runs" / "model-2-prompt" / "grades.jsonl")) == 1


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--model", MODEL, "--model", MODEL), "is given twice"),
        (("--model", MODEL, "--model", "other/model", "--system", "mine"), "used with several models"),
    ],
)
def test_models_that_would_share_a_run_folder_or_a_name_are_refused(options, words):
    result = lmrbench("", "run", *options)
    assert (result.returncode, words in result.stderr) == (2, True)


def test_models_of_two_providers_with_one_name_have_different_run_folders():
    folders = folders_of_models(["openai/gpt-5", "openrouter/openai/gpt-5", "google/gemini"], "prompt")
    assert list(folders.values()) == ["openai-gpt-5-prompt", "openrouter-openai-gpt-5-prompt", "gemini-prompt"]


@pytest.mark.parametrize("setting", ["prompt", "agent"])
def test_killed_twice_nothing_is_lost_or_asked_twice(papers, tmp_path, setting):
    run = tmp_path / "run"
    gate = Gate()
    answer = right if setting == "prompt" else working_agent

    def script(request):
        return answer(request) if gate.passed() else GIVEN_UP

    tasks = {f"{slug}/blend" for slug in SEVERAL}
    arguments = (
        "run",
        "--no-report",
        "--model",
        MODEL,
        "--setting",
        setting,
        *chosen(papers, *SEVERAL),
        "--connections",
        4,
        "--out",
        run,
    )
    with serving(script) as (base, log):
        for kills in (1, 2):
            gate.open(2)
            process = Running(arguments, environment(base))
            deadline = time.monotonic() + 200
            while sum(log.answered.values()) < 2 * kills and time.monotonic() < deadline:
                time.sleep(0.05)
            # Wait until answers are stored and the other requests wait at the gate.
            time.sleep(2)
            process.send_signal(signal.SIGKILL)
            process.wait()
            gate.give_up()
        gate.open(1000)
        result = lmrbench(base, *arguments, timeout=500)

    assert result.returncode == 0, result.stderr
    assert f"{len(tasks)} of {len(tasks)} answers pass" in result.stdout
    assert set(log.answered.values()) == {1}
    calls = 1 if setting == "prompt" else 3
    usage = lines(run / "usage.jsonl")
    assert len(log.answered) == calls * len(tasks)
    assert sum(item["output_tokens"] for item in usage) == COMPLETION_TOKENS * calls * len(tasks)
    assert {item["task"] for item in lines(run / "submissions.jsonl")} == tasks
    assert {item["task"] for item in lines(run / "grades.jsonl")} == tasks


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_is_one_line_and_the_run_goes_on_later(papers, tmp_path, number):
    gate = Gate()
    gate.open(1)

    def script(request):
        return right(request) if gate.passed() else GIVEN_UP

    arguments = (
        "run",
        "--no-report",
        "--model",
        MODEL,
        *chosen(papers, *TWO),
        "--connections",
        1,
        "--out",
        tmp_path / "run",
    )
    with serving(script) as (base, log):
        process = Running(arguments, environment(base))
        deadline = time.monotonic() + 60
        while len(log.requests) < 2 and time.monotonic() < deadline:
            time.sleep(0.05)
        process.send_signal(number)
        ended = process.wait(60)
        gate.give_up()
        gate.open(1000)
        result = lmrbench(base, *arguments)

    # Lines of progress may precede it.
    assert (ended.returncode, ended.stderr.splitlines()[-1]) == (130, "lmrbench: interrupted")
    assert "2 of 2 answers pass" in result.stdout
    assert set(log.answered.values()) == {1}


def test_repairs_say_why_an_answer_can_not_be_used_and_nothing_of_the_check(papers, tmp_path):
    def script(request):
        return right(request) if replies_of(request) else Reply("I would rather not.")

    with serving(script) as (base, log):
        without = lmrbench(
            base, "run", "--no-report", "--model", MODEL, *chosen(papers, "toy"), "--out", tmp_path / "without"
        )
        mended = lmrbench(
            base,
            "run",
            "--no-report",
            "--model",
            MODEL,
            *chosen(papers, "toy"),
            "--out",
            tmp_path / "r",
            "--repairs",
            2,
        )

    assert "0 of 1 answers pass" in without.stdout
    assert "1 of 1 answers pass" in mended.stdout
    assert len(log.requests) == 3
    assert "Your answer can't be used" in log.requests[-1].text


def test_code_that_is_broken_is_unusable_and_asked_for_again_with_its_line(papers, tmp_path):
    def script(request):
        if replies_of(request):
            return right(request)
        return Reply("```python\ndef blend(*arguments):\n    if arguments\n        return 1\n    return 2\n```")

    with serving(script) as (base, log):
        arguments = ("run", "--no-report", "--model", MODEL, *chosen(papers, "toy"))
        without = lmrbench(base, *arguments, "--out", tmp_path / "without")
        mended = lmrbench(base, *arguments, "--out", tmp_path / "mended", "--repairs", 1)

    (usage,) = lines(tmp_path / "without" / "usage.jsonl")
    assert usage["status"] == "unusable"
    assert "the candidate can't be parsed: line 3: expected ':' (Python 3." in usage["detail"]
    assert "the candidate can't be parsed: line 3: expected ':'" in log.requests[-1].text
    assert "0 of 1 answers pass" in without.stdout
    assert "1 of 1 answers pass" in mended.stdout


def test_several_samples_are_asked_for_one_by_one_and_counted_by_task(papers, tmp_path):
    def script(request):
        return right(request) if request.number else Reply("no")

    with serving(script) as (base, log):
        arguments = ("--model", MODEL, *chosen(papers, "toy"), "--samples", 4, "--out", tmp_path / "run", "--json")
        result = lmrbench(base, "run", *arguments)

    report = json.loads(result.stdout)
    rate = report["rates"]["all"][MODEL]
    assert (rate["tasks"], rate["answers"], rate["correct"]) == (1, 4, 0.75)
    assert sorted(item["sample"] for item in report["grades"]) == [0, 1, 2, 3]
    assert len(log.requests) == 4


@pytest.mark.parametrize(
    ("inputs", "seen", "unseen"),
    [
        ("full", ["Goal file `blending.py`", "Context file"], []),
        ("paper+file", ["Goal file `blending.py`"], ["Context file"]),
        ("paper", ["The function"], ["Goal file", "Context file"]),
    ],
)
def test_what_a_model_sees(papers, inputs, seen, unseen):
    (sample,) = lmr_bench(suite=str(papers), tasks="toy", inputs=inputs).dataset

    assert all(words in sample.input for words in seen)
    assert not any(words in sample.input for words in unseen)


def test_a_run_folder_is_of_one_system_and_one_setting(papers, tmp_path):
    with serving(right) as (base, _):
        arguments = ("--model", MODEL, *chosen(papers, "toy"), "--out", tmp_path / "run")
        assert lmrbench(base, "run", "--no-report", *arguments).returncode == 0
        result = lmrbench(base, "run", "--no-report", *arguments, "--inputs", "paper")

    assert result.returncode == 2
    assert result.stderr.count("\n") == 1
    assert "contains answers made with other settings (inputs " in result.stderr


def test_prices_make_costs(papers, tmp_path):
    prices = tmp_path / "prices.json"
    prices.write_text(json.dumps({MODEL: {"input": 1.0, "output": 10.0}}))
    with serving(right) as (base, _):
        arguments = ("--model", MODEL, *chosen(papers, *TWO), "--prices", prices, "--out", tmp_path / "run", "--json")
        result = lmrbench(base, "run", *arguments)

    dollars = json.loads(result.stdout)["costs"][MODEL]["dollars"]
    assert dollars == pytest.approx(2 * (PROMPT_TOKENS * 1.0 + COMPLETION_TOKENS * 10.0) / 1e6)


def test_without_a_model_the_systems_that_need_none(papers, tmp_path):
    result = running.lmrbench("run", *chosen(papers, "toy"), "--out", tmp_path / "run", "--json")

    rates = json.loads(result.stdout)["rates"]["all"]
    assert {name: rate["correct"] for name, rate in rates.items()} == {"golden": 1, "mask": 0, "nearest": 0}
