"""Coding agents of other projects: each solves a task with its own tools, by the replies of a scripted server.

LMRBENCH_AGENTS names the folders in which they are installed, separated by colons; LMRBENCH_AGENT_IMAGE an image of
Docker with OpenHands. docs/agents-tried.md says how to make both.
"""

import json
import os
import shutil

import pytest
from inspect_ai.log import list_eval_logs, read_eval_log
from tests.core import TASKS
from tests.solving.helpers import MODEL, lines, lmrbench, replies_of
from tests.solving.server import Reply, serving

from lmrbench.errors import SandboxError, UsageError
from lmrbench.integrations.lmr_bench.actions import distributions
from lmrbench.integrations.lmr_bench.sessions import sessions_of_run
from lmrbench.runs.folder import read_run
from lmrbench.runs.logs import EVENTS
from lmrbench.solving import agents
from lmrbench.solving.agents import solver_agent

TASK = TASKS["dpo/preference_loss"]
FILE = "/workspace/repo/trainers.py"
REFERENCE = TASK.files.repository["trainers.py"].decode()
WRITE = f"cat > {FILE} <<'END_OF_FILE'\n{REFERENCE.rstrip()}\nEND_OF_FILE"
FOLDERS = [folder for folder in os.environ.get("LMRBENCH_AGENTS", "").split(":") if folder]
# The program of each agent, the calls of its tools that solve the task, and their kinds.
AGENTS = {
    "claude_code": (
        "claude",
        [("Read", {"file_path": FILE}), ("Write", {"file_path": FILE, "content": REFERENCE})],
        {"read": 1, "edit": 1, "message": 1},
    ),
    "codex_cli": ("codex", [("exec_command", {"cmd": WRITE})], {"run": 1, "message": 1}),
    "mini_swe_agent": (
        "mini",
        [("bash", {"command": WRITE}), ("bash", {"command": "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"})],
        {"run": 2},
    ),
    "openhands": (
        "openhands",
        [
            ("file_editor", {"command": "view", "path": FILE, "security_risk": "LOW"}),
            ("terminal", {"command": WRITE, "security_risk": "MEDIUM"}),
            ("finish", {"message": "The function is implemented."}),
        ],
        {"read": 1, "run": 1, "finish": 1},
    ),
}


def run_of(name, folder, *arguments, calls=None):
    """Run an agent whose model makes these calls, and return what the command printed, and the run."""
    asked = AGENTS[name][1] if calls is None else calls

    def script(request):
        number = replies_of(request)
        return Reply(tool=asked[number]) if number < len(asked) else Reply("Done.")

    prices = folder / "prices.json"
    prices.write_text(json.dumps({MODEL: {"input": 1, "output": 1}}))
    options = ("--model", MODEL, "--task", TASK.id, "--setting", "agent", "--prices", prices, "--no-report")
    with serving(script) as (base, _):
        result = lmrbench(base, "run", *options, "--agent", name, "--out", folder / "run", *arguments)
    return result, folder / "run"


def check(name, result, run):
    assert "1 of 1 answers pass" in result.stdout, result.stderr
    _, calls, kinds = AGENTS[name]
    (usage,) = lines(run / "usage.jsonl")
    assert usage["calls"] == len(calls) + kinds.get("message", 0)
    assert usage["dollars"] > 0
    (session,) = sessions_of_run(read_run(run))
    assert (session.solved, session.counts) == (True, kinds)


@pytest.mark.sandbox
@pytest.mark.slow
@pytest.mark.torch
@pytest.mark.parametrize("name", AGENTS)
def test_an_installed_agent_solves_a_task_with_its_own_tools(name, tmp_path):
    program = AGENTS[name][0]
    folder = next((item for item in FOLDERS if shutil.which(program, path=f"{item}/bin")), None)
    if folder is None:
        pytest.skip(f"NOT TESTED: no folder of LMRBENCH_AGENTS has bin/{program}; see docs/agents-tried.md")

    check(name, *run_of(name, tmp_path, "--mount", folder))


@pytest.mark.docker
@pytest.mark.sandbox
@pytest.mark.slow
@pytest.mark.torch
@pytest.mark.skipif(
    not os.environ.get("LMRBENCH_AGENT_IMAGE"),
    reason="NOT TESTED: LMRBENCH_AGENT_IMAGE names no image with OpenHands; see docs/agents-tried.md",
)
def test_openhands_solves_a_task_in_docker(tmp_path):
    image = ("--agent-sandbox", "docker", "--agent-image", os.environ["LMRBENCH_AGENT_IMAGE"])

    check("openhands", *run_of("openhands", tmp_path, *image))


# A program that leaves events as OpenHands does, one of them cut off.
EVENTS_OF = """#!/bin/sh
curl -s $LLM_BASE_URL/chat/completions -H 'Content-Type: application/json' \\
    -d '{"model": "m", "messages": [{"role": "user", "content": "Hello"}]}' >/dev/null
mkdir -p ~/.openhands/conversations/one/events
cd ~/.openhands/conversations/one/events
echo '{"source": "user", "kind": "MessageEvent"}' >event-00000-a.json
printf '%s' '{"source": "agent", "kind": "ActionEvent", "tool_name": "terminal", "action": {"command": "ls"}}' \\
    >event-00001-b.json
printf '%s' '{"source": "agent", "kind": "ActionEvent", "tool_name": "file_editor", "action": {"command": "create"}}' \\
    >event-00002-c.json
echo '{"source": "agent", "kind": "MessageEvent"}' >event-00003-d.json
printf '%s' '{"source": "agent", "kind": "Act' >event-00004-e.json
"""


@pytest.fixture
def tools(tmp_path):
    """A folder with a program named openhands."""
    program = tmp_path / "tools" / "bin" / "openhands"
    program.parent.mkdir(parents=True)
    program.write_text(EVENTS_OF)
    program.chmod(0o755)
    tmp_path.chmod(0o755)
    return tmp_path / "tools"


@pytest.mark.sandbox
@pytest.mark.torch
@pytest.mark.parametrize(("end", "status"), [("", "empty"), ("sleep 100\n", "limit")])
def test_the_events_that_a_program_left_are_in_the_log_and_counted(end, status, tools, tmp_path):
    with (tools / "bin" / "openhands").open("a") as program:
        program.write(end)

    _, run = run_of("openhands", tmp_path, "--mount", tools, "--time-limit", 3, calls=[])

    assert lines(run / "usage.jsonl")[0]["status"] == status
    (info,) = list_eval_logs(str(run / "logs"))
    samples = read_eval_log(info).samples
    assert samples
    (sample,) = samples
    (kept,) = [event.data for event in sample.events if event.event == "info" and event.source == EVENTS]
    assert [event.get("tool_name") for event in kept] == [None, "terminal", "file_editor", None]
    by_outcome = {item.outcome: item for item in distributions(sessions_of_run(read_run(run)))}
    assert sorted(by_outcome) == ["all", "not solved"]
    counts = {kind: count for kind, count in by_outcome["not solved"].counts.items() if count}
    assert counts == {"run": 1, "edit": 1, "message": 1}


def test_an_agent_whose_protocol_needs_a_package_names_it(monkeypatch):
    monkeypatch.setattr(agents, "find_spec", lambda name: None)
    with pytest.raises(
        SandboxError, match=r"claude_code needs the package anthropic.*pip install 'lmrbench\[agents\]'"
    ):
        solver_agent("claude_code", "", 3)


def test_an_unknown_agent_is_refused_with_those_that_are_known():
    with pytest.raises(UsageError, match="there is no agent 'nobody'; use one of react, plan, claude_code"):
        solver_agent("nobody", "", 3)
