"""Faults: those of the model are scored; those of the provider and of the agent's program never are."""

import json
import os
import re
import subprocess
import sys
import zipfile
from typing import Any

import pytest
from inspect_ai import eval
from inspect_ai.model import get_model
from tests.solving.helpers import (
    MODEL,
    SLUGS,
    asked_for,
    chosen,
    environment,
    fenced,
    golden,
    lines,
    lmrbench,
    mock,
    target_of,
)
from tests.solving.server import Reply, serving

from lmrbench import cli
from lmrbench.grading.draw import installation_seed
from lmrbench.solving.task import OptionError, lmr_bench

CONTEXT = "This model's maximum context length is 10 tokens."


def ended(kind, slug):
    """Return the reply of a server to a paper's task, by kind, and the status that the answer should get."""
    code = fenced(golden(slug))
    return {
        "right": (Reply(code), "answered"),
        "slow": (Reply(code, seconds=4), "answered"),
        "errors": (Reply(status=500), "provider_error"),
        "hangs": (Reply(code, seconds=90), "provider_error"),
        "cut": (Reply(drop=True), "provider_error"),
        "busy": (Reply(status=429, retry_after=600), "provider_error"),
        # The text of the error contains the answer, but must not be graded.
        "context": (Reply(status=400, code="context_length_exceeded", message=CONTEXT + code), "limit"),
        "context of another server": (Reply(status=400, code=400, message=CONTEXT + code), "limit"),
        "refuses": (Reply("I'm sorry, I can't.", refusal=True), "refused"),
        "filters": (Reply("Of course", finish="content_filter"), "filtered"),
        "empty": (Reply(""), "empty"),
        "truncates": (Reply(code[:60], finish="length"), "truncated"),
        "truncates late": (Reply(code, finish="length"), "truncated"),
        "chats": (Reply("I would rather not."), "unusable"),
    }[kind]


KINDS = dict(
    zip(
        SLUGS,
        [
            *("right", "slow", "errors", "hangs", "truncates late", "cut", "busy"),
            *("context", "context of another server", "refuses", "filters", "empty", "truncates", "chats"),
        ],
        strict=True,
    )
)
PASS = ("right", "slow", "truncates late")


@pytest.mark.sandbox
def test_only_what_the_machinery_failed_at_is_unanswered_and_asked_again(papers, tmp_path):
    run = tmp_path / "run"
    recovered: list[bool] = []

    def script(request):
        slug = asked_for(request)
        return Reply(fenced(golden(slug))) if recovered else ended(KINDS[slug], slug)[0]

    patience = ("--retries", 1, "--patience", 15, "--time-limit", 2, "--connections", len(KINDS))
    arguments = (
        "run",
        "--model",
        MODEL,
        *chosen(papers, *KINDS),
        "--out",
        run,
        "-M",
        "stream=true",
        *patience,
    )
    with serving(script) as (base, log):
        first = lmrbench(base, *arguments)
        before, asked = lines(run / "usage.jsonl"), len(log.requests)
        tables = lmrbench(base, "report", run, "--full").stdout
        recovered.append(True)
        second = lmrbench(base, *arguments, "--json")

    wanted = {slug: ended(kind, slug)[1] for slug, kind in KINDS.items()}
    assert {item["task"]: item["status"] for item in before} == {f"{slug}/blend": wanted[slug] for slug in wanted}
    details = {KINDS[item["task"].removesuffix("/blend")]: item["detail"] for item in before}
    assert "maximum context length" in details["context"]
    assert "no code in the answer: 'I would rather not.'" in details["chats"]
    assert details["refuses"] == "I'm sorry, I can't."
    assert "no answer within 15 s" in details["hangs"]
    assert first.returncode == 4
    assert first.stderr.splitlines()[-1].startswith(
        f"lmrbench: {run}: 4 of 14 samples have no answer: provider error: 4 ("
    )
    assert "Run the same command again" in first.stderr
    assert "Traceback" not in first.stderr
    assert "10 of 14 30.0% 0% to 60% 30.0% 4 (21.4% as wrong)" in " ".join(first.stdout.split())
    counts = dict(re.findall(r" {2}([a-z][a-z ]*?) {2,}(\d+)\b", tables))
    assert {name: counts[name] for name in ("provider error", "answered", "limit", "truncated")} == {
        "provider error": "4",
        "answered": "2",
        "limit": "2",
        "truncated": "2",
    }

    assert second.returncode == 0, second.stderr
    assert len(log.requests) == asked + 4
    report = json.loads(second.stdout)
    assert report["rates"]["all"][MODEL]["passes"] == 7
    assert report["rates"]["all"][MODEL]["unanswered"] == 0
    assert report["statuses"][MODEL]["answered"] == 6
    grades = {item["task"]: item["correct"] for item in report["grades"]}
    assert grades == {f"{slug}/blend": kind in PASS or wanted[slug] == "provider_error" for slug, kind in KINDS.items()}
    facts = json.loads((run / "run.json").read_text())["solving"]
    assert (facts["base_url"], facts["model_args"], facts["time_limit"]) == (base, {"stream": True}, 2)

    logs = ""
    for file in (run / "logs").glob("*.eval"):
        with zipfile.ZipFile(file) as archive:
            logs += "".join(archive.read(name).decode("utf-8", "replace") for name in archive.namelist())
    assert "unusable: " in logs
    assert str(installation_seed()) not in logs


@pytest.mark.sandbox
def test_nothing_is_asked_where_a_small_request_fails_and_the_folder_is_free_for_another_model(papers, tmp_path):
    fault = [Reply(status=401, message="wrong key")]

    def right(request):
        return Reply(fenced(golden(asked_for(request))))

    arguments = ("run", "--no-report", *chosen(papers, "toy", "other"), "--out", tmp_path / "run")
    with serving(right, small=lambda: fault[0] if fault else Reply("OK")) as (base, log):
        first = lmrbench(base, *arguments, "--model", MODEL)
        asked = len(log.requests), log.small
        fault.clear()
        second = lmrbench(base, *arguments, "--model", f"{MODEL}-2", "-M", "stream=true")

    assert asked == (0, 1)
    assert first.returncode == 4
    assert len(first.stderr.splitlines()) == 1
    assert "2 of 2 samples have no answer" in first.stderr
    assert "wrong key" in first.stderr
    assert first.stdout == ""
    assert second.returncode == 0, second.stderr
    assert "2 of 2 answers pass" in second.stdout


AGENT = """
import json, os, sys, urllib.request
body = {"model": "gpt-4o", "messages": [{"role": "user", "content": open("instruction.md").read()}]}
request = urllib.request.Request(os.environ["OPENAI_BASE_URL"] + "/chat/completions", json.dumps(body).encode(),
                                 {"Content-Type": "application/json", "Authorization": "Bearer x"})
code = json.load(urllib.request.urlopen(request, timeout=60))["choices"][0]["message"]["content"]
open(sys.argv[1], "w").write(code.split("```python\\n")[1].split("```")[0])
sys.exit(3)
"""


@pytest.mark.sandbox
def test_an_agents_program_that_never_ran_is_no_score(papers, tmp_path):
    ways = ("crash", "missing", "locked_out", "works")
    names = dict(zip(ways, SLUGS, strict=False))
    folder = tmp_path / "tools"
    folder.mkdir()
    (folder / "agent.py").write_text(AGENT)
    program, script_file = folder / "agent.py", folder / "agent.sh"

    def cases(**commands):
        body = "".join(f"*'{target_of(names[way])}'*) {command};;\n" for way, command in commands.items())
        script_file.write_text(f'case "$(cat instruction.md)" in\n{body}esac\n')

    runs_ = dict.fromkeys(ways, f"exec python3 {program} repo/blending.py")
    for path in (tmp_path, folder):
        path.chmod(0o755)
    cases(**runs_ | {"crash": "exec python3 -c 'import nothing_there'", "missing": "exec no-such-agent"})
    healthy: list[bool] = []

    def script(request):
        slug = asked_for(request)
        if slug == names["locked_out"] and not healthy:
            return Reply(status=401, message="wrong key")
        return Reply(fenced(golden(slug)))

    run = tmp_path / "run"
    arguments = ("--model", MODEL, *chosen(papers, *names.values()), "--setting", "agent")
    arguments = (*arguments, "--agent-command", f"bash {script_file}", "--mount", folder, "--out", run)
    with serving(script) as (base, log):
        first = lmrbench(base, "run", "--no-report", *arguments)
        by_task = {item["task"]: item for item in lines(run / "usage.jsonl")}
        before = [by_task[f"{slug}/blend"] for slug in names.values()]
        healthy.append(True)
        cases(**runs_)
        second = lmrbench(base, "run", "--no-report", *arguments)

    assert first.returncode == 4
    assert "3 of 4 samples have no answer" in first.stderr
    assert [item["status"] for item in before] == ["agent_crash", "agent_crash", "provider_error", "answered"]
    assert "No module named 'nothing_there'" in before[0]["detail"]
    assert "exit code 127" in before[1]["detail"]
    assert "--mount FOLDER" in before[1]["detail"]
    assert "--mount" not in before[2]["detail"]
    assert "wrong key" in before[2]["detail"]
    # A program that fails after its first model call has answered.
    assert "1 of 1 answers pass" in first.stdout
    assert second.returncode == 0, second.stderr
    assert "4 of 4 answers pass" in second.stdout
    assert log.answered.total() == 4


@pytest.mark.sandbox
def test_an_answer_that_is_paid_for_is_taken_whatever_the_limit(papers, tmp_path):
    model = mock([fenced(golden("toy"))])
    (log,) = eval(
        lmr_bench(suite=str(papers), tasks="toy"), model=model, token_limit=5, log_dir=str(tmp_path), display="none"
    )

    score = log.samples[0].scores["unit_tests"]
    assert score.as_dict()["correct"] == 1
    assert score.metadata["status"] == "limit"


@pytest.mark.parametrize("limit", ["time_limit", "working_limit"])
def test_silence_until_a_limit_of_inspects_own_is_no_score(papers, tmp_path, monkeypatch, limit):
    with serving(lambda request: Reply("late", seconds=20)) as (base, _):
        for name, value in environment(base).items():
            monkeypatch.setenv(name, value)
        # Inspect memoizes the clients of models; this server needs a new one.
        model = get_model(MODEL, memoize=False)
        limited: dict[str, Any] = {limit: 3}
        (log,) = eval(
            lmr_bench(suite=str(papers), tasks="toy"), model=model, log_dir=str(tmp_path), display="none", **limited
        )

    assert not log.samples[0].scores
    assert "no model call returned" in log.samples[0].error.message


def test_tasks_come_split_at_commas(papers):
    found = lmr_bench(suite=str(papers), tasks=["toy", "other"]).dataset
    assert {sample.id for sample in found} == {"toy/blend", "other/blend"}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"inputs": "foo"}, "inputs=foo: must be 'full', 'paper+file' or 'paper'"),
        ({"setting": "bar"}, "setting=bar: must be 'prompt' or 'agent'"),
        ({"paper": "x"}, "paper=x: must be 'summary', 'pdf', 'latex', 'json' or 'pdf-file'"),
        ({"agent_sandbox": "x", "setting": "agent"}, "agent_sandbox=x: must be 'bubblewrap' or 'docker'"),
        ({"samples": 0}, "samples=0: must be"),
        ({"tasks": "nothing"}, "nothing"),
        ({"setting": "agent", "mount": "/nope"}, "mount: /nope is not an absolute path"),
        ({"setting": "agent", "agent_sandbox": "docker", "mount": "/usr"}, "bubblewrap only"),
    ],
)
def test_options_of_the_task_that_can_not_be(options, words):
    with pytest.raises(OptionError, match=r"^[^\n]*$") as caught:
        lmr_bench(**options)

    assert words in str(caught.value)


ENGINE = """echo '{"Server": {"Version": "%s"}}'"""


@pytest.mark.sandbox
@pytest.mark.parametrize(
    ("engine", "compose", "words"),
    [
        ("echo 'Cannot connect to the Docker daemon' >&2; exit 1", "exit 1", ["working Docker Engine", "daemon"]),
        (ENGINE % "20.10.24", "exit 1", ["Docker Engine >= ", "20.10.24"]),
        (ENGINE % "26.1.5", "echo 'unknown flag: --format' >&2; seq 200 >&2; exit 125", ["docker compose version"]),
        (ENGINE % "26.1.5", """echo '{"version": "1.29.2"}'""", ["Docker Compose >= ", "1.29.2"]),
    ],
    ids=["no engine", "an old engine", "no compose", "an old compose"],
)
def test_what_agents_need_under_docker_is_one_line(papers, tmp_path, monkeypatch, engine, compose, words):
    program = tmp_path / "bin" / "docker"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nif [ "$1" = compose ]; then {compose}; else {engine}; fi\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")

    docker = ("--setting", "agent", "--agent-sandbox", "docker", "--out", tmp_path / "run")
    result = lmrbench("http://127.0.0.1:1/v1", "run", "--no-report", "--model", MODEL, *chosen(papers, "toy"), *docker)

    assert result.returncode == 2
    assert result.stderr.count("\n") == 1
    assert len(result.stderr) < 500
    assert all(word in result.stderr for word in words)


AS_AGENT = ("--setting", "agent")


@pytest.mark.sandbox
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--model", MODEL, "--agent", "openhands"), "--agent openhands applies only to the agent setting"),
        (("--model", MODEL, "--mount", "/usr"), "applies only to the agent setting"),
        (("--model", MODEL, *AS_AGENT, "--repairs", "1"), "--repairs 1 applies only to the prompt setting"),
        (("--model", MODEL, *AS_AGENT, "--mount", "/nope"), "mount: /nope"),
        (("--model", MODEL, *AS_AGENT, "--agent-sandbox", "docker", "--mount", "/usr"), "bubblewrap only"),
        (("--model", MODEL, *AS_AGENT, "--agent", "nobody"), "there is no agent 'nobody'"),
        (AS_AGENT, "--setting needs --model"),
        (("--samples", "2"), "--samples needs --model"),
        (("--model", "model"), "for example openai/model"),
        (("--model", "opnai/model"), "did you mean openai?"),
        (("--model", "nowhere/model"), "the model nowhere/model can't be opened: "),
        (("--model", "openai-api/unknown/model"), "set it with export UNKNOWN_API_KEY="),
        (("--model", "mistral/model"), "pip install mistralai"),
        (("--model", MODEL, "-M", "nonsense=1"), "nonsense"),
        (("--model", MODEL, "-M", "nonsense"), "must be of the form KEY=VALUE"),
        (("--model", MODEL, "--cost-limit", "1"), "--cost-limit needs --prices"),
    ],
)
def test_a_wrong_command_is_one_line(toy_suite, tmp_path, monkeypatch, capfd, arguments, words):
    monkeypatch.setenv("LOCAL_API_KEY", "key")
    monkeypatch.setenv("LOCAL_BASE_URL", "http://127.0.0.1:1/v1")
    monkeypatch.setattr(
        sys, "argv", ["lmrbench", "run", "--suite", str(toy_suite), "--out", str(tmp_path / "run"), *arguments]
    )

    with pytest.raises(SystemExit) as caught:
        cli.main()

    said = capfd.readouterr()
    assert caught.value.code == 2
    assert said.err.count("\n") == 1
    assert words in said.err
    assert "[bold]" not in said.err
    assert not said.out


def test_an_option_that_can_not_be_is_one_line_of_inspect_too(tmp_path):
    inspect = [sys.executable, "-m", "inspect_ai", "eval", "lmrbench/lmr_bench", "-T", "inputs=foo"]
    done = subprocess.run([*inspect, "--model", "mockllm/model"], capture_output=True, text=True, cwd=tmp_path)

    assert done.returncode != 0
    assert (done.stdout + done.stderr).strip() == "inputs=foo: must be 'full', 'paper+file' or 'paper'"
