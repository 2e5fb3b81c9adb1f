"""Agents in their namespaces: abilities, isolation, and the grading of their answers."""

import json
import re
import zipfile
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace

import anyio
import pytest
from inspect_ai import Task, eval
from inspect_ai.agent import as_solver
from inspect_ai.dataset import Sample
from inspect_ai.log import list_eval_logs, read_eval_log
from inspect_ai.util import ExecResult
from tests import toy
from tests.core import TASKS
from tests.solving.helpers import MODEL, asked_for, golden, lines, lmrbench, replies_of
from tests.solving.server import Reply, serving

from lmrbench.integrations.lmr_bench.sessions import sessions_of_run
from lmrbench.runs.folder import read_run
from lmrbench.solving import agents
from lmrbench.source.functions import find

pytestmark = pytest.mark.sandbox

GOAL = "/workspace/repo/blending.py"
MASK = "    raise NotImplementedError"
# A task of the suite that comes with lmrbench: what a hostile agent looks for are its secrets.
TASK = TASKS["concept_depth/probing"]
CORE = ("--suite", "core", "--task", TASK.id)
REFERENCE = TASK.files.repository["probing.py"].decode()
SECRET_PLACES = "/ /root /home /work /usr/lib/python3 /usr/local /opt /var /tmp /packages /proc/1"


def mounted(tmp_path, program):
    """A folder with a program, to show to an agent."""
    folder = tmp_path / "tools"
    folder.mkdir()
    (folder / "agent.py").write_text(program)
    folder.chmod(0o755)
    tmp_path.chmod(0o755)
    return folder


def steps(*tools):
    """Return a script that calls these tools in turn and then submits."""

    def script(request):
        calls = [*tools, ("submit", {"answer": "done"})]
        return Reply(tool=calls[min(replies_of(request), len(tools))])

    return script


def write_answer(code, file=GOAL):
    return ("python", {"code": f"open({file!r}, 'w').write({code!r})"})


def solved(tmp_path, script, *arguments, suite=("--suite", toy.FOLDER)):
    with serving(script) as (base, log):
        run = tmp_path / "run"
        options = ("--no-report", "--model", MODEL, *suite, "--setting", "agent", "--out", run, *arguments)
        result = lmrbench(base, "run", *options)
    assert result.returncode == 0, result.stderr
    return result, run, log


def transcript(run):
    (info,) = list_eval_logs(str(run / "logs"))
    return read_eval_log(info).samples[0]


def test_an_agent_edits_with_the_editor(tmp_path):
    body = "\n".join(body_of(golden("toy"), "Blender.blend"))
    edit = ("text_editor", {"command": "str_replace", "path": GOAL, "old_str": f"    {MASK}", "new_str": body})
    look = ("text_editor", {"command": "view", "path": "/workspace/paper.md"})

    result, run, _ = solved(tmp_path, steps(look, edit))

    assert "1 of 1 answers pass" in result.stdout
    assert any("Blending by Weights" in message.text for message in transcript(run).messages if message.role == "tool")
    (session,) = sessions_of_run(read_run(run))
    assert (session.system, session.task, session.solved) == (MODEL, "toy/blend", True)
    assert session.counts == {"read": 1, "edit": 1, "finish": 1}


def test_a_hostile_agent_finds_nothing_and_is_graded_by_its_target_alone(tmp_path):
    search = f"grep -rlsE 'def observe|lmr_bench|rewrites' {SECRET_PLACES} --include=*.py --include=*.toml | head; "
    hostile = [
        ("bash", {"command": f"{search} find / -name 'certificate.json' -o -name '*.eval' 2>/dev/null | head; env"}),
        ("bash", {"command": "cat /proc/*/environ /proc/*/cmdline 2>/dev/null | tr '\\0' ' '; ls /proc/1/fd /worker"}),
        (
            "bash",
            {
                "command": "python3 -c 'import lmrbench'; curl -m 2 http://127.0.0.1; python3 -c \""
                "import socket; socket.create_connection(('1.1.1.1', 53), 2)\""
            },
        ),
        (
            "bash",
            {
                "command": "cd repo && echo 'import os; os._exit(0)' | tee conftest.py sitecustomize.py > numpy.py;"
                " echo 'raise SystemExit' > config.py; rm -f data.py; ln -s /etc/passwd passwd; touch /usr/x /worker/x"
            },
        ),
        write_answer(REFERENCE, "/workspace/repo/probing.py"),
    ]

    result, run, _ = solved(tmp_path, steps(*hostile), suite=CORE)

    # Only the target counts, and it is right; changes of other files are ignored.
    assert "1 of 1 answers pass" in result.stdout
    said = "\n".join(message.text for message in transcript(run).messages if message.role == "tool")
    assert "No module named 'lmrbench'" in said
    assert "Network is unreachable" in said
    assert not re.search(r"certificate\.json|\.eval\b|/suite/|LOCAL_API_KEY|checks/", said)
    (submission,) = lines(run / "submissions.jsonl")
    warnings = " ".join(submission["warnings"])
    assert "config.py" in warnings
    assert "numpy.py" in warnings


def test_a_hostile_agent_with_a_wrong_target_fails(tmp_path):
    right = golden("toy")
    wrong = right.replace("def blend(", "def blend_(") + "\n    def blend(self, values):\n        return 0.0\n"

    result, _, _ = solved(tmp_path, steps(write_answer(wrong)))

    assert "0 of 1 answers pass" in result.stdout


def test_no_log_holds_text_of_a_check_or_a_golden(tmp_path):
    # Fails in the middle of the check, so that a traceback through `observe` exists.
    wrong = "def probing(*arguments, **keywords):\n    raise KeyError(arguments)\n"

    _, run, _ = solved(tmp_path, steps(write_answer(wrong, "/workspace/repo/probing.py")), suite=CORE)

    texts = []
    for file in (run / "logs").rglob("*.eval"):
        with zipfile.ZipFile(file) as archive:
            texts += [archive.read(name).decode("utf-8", "replace") for name in archive.namelist()]
    everything = "\n".join(texts)
    assert "unit_tests" in everything
    check_lines = [line.strip() for line in TASK.files.check.splitlines() if len(line.strip()) > 30]
    assert not [line for line in check_lines if json.dumps(line)[1:-1] in everything]
    answer_lines = [line.strip() for line in body_of(REFERENCE, "probing") if len(line.strip()) > 20]
    assert not [line for line in answer_lines if json.dumps(line)[1:-1] in everything]


def body_of(source, name):
    """Return the lines of a function's body, without its docstring."""
    function = find(source.encode(), name)
    docstring_end = source.index('"""', source.index('"""', function.start) + 3) + 3
    return source[docstring_end : function.end].strip("\n").splitlines()


def test_turns_are_limited_and_what_is_there_then_is_graded(tmp_path):
    def script(request):
        if replies_of(request) == 1:
            return Reply(tool=write_answer(golden(asked_for(request))))
        return Reply(tool=("bash", {"command": "true"}))

    result, run, log = solved(tmp_path, script, "--turns", 4)

    assert "1 of 1 answers pass" in result.stdout
    assert len(log.requests) == 4
    assert lines(run / "usage.jsonl")[0]["limit"] == "turn"


def test_an_agent_plans_without_tools_and_then_works_by_its_plan(tmp_path):
    plan = "1. Read weighting.py. 2. Write the weighted mean."

    def script(request):
        return Reply(plan) if "tools" not in request.body else working(request)

    def working(request):
        return Reply(tool=write_answer(golden("toy")) if replies_of(request) == 1 else ("submit", {"answer": "done"}))

    result, run, log = solved(tmp_path, script, "--agent", "plan")

    assert "1 of 1 answers pass" in result.stdout
    first, *others = log.requests
    # The plan is made from the instruction and the paper, whose texts are in the request.
    assert "write a plan" in first.text
    assert "An empty list gives 0.0." in first.text
    assert "Blending by Weights" in first.text
    assert [plan in request.text for request in log.requests] == [False, True, True]
    assert all({"bash", "python", "text_editor"} < names_of_tools(request) for request in others)
    assert [message.role for message in transcript(run).messages[:5]] == ["system", "user", "user", "assistant", "user"]
    assert json.loads((run / "run.json").read_text())["solving"]["agent"] == "plan"
    (usage,) = lines(run / "usage.jsonl")
    assert (usage["calls"], usage["status"]) == (3, "answered")


def names_of_tools(request):
    return {tool["function"]["name"] for tool in request.body["tools"]}


def test_the_plan_of_plan_agent_is_one_of_the_turns(tmp_path):
    def script(request):
        return Reply("1. Look around.") if "tools" not in request.body else Reply(tool=("bash", {"command": "true"}))

    _, run, log = solved(tmp_path, script, "--agent", "plan", "--turns", 3)

    assert ["tools" in request.body for request in log.requests] == [False, True, True]
    (usage,) = lines(run / "usage.jsonl")
    assert (usage["calls"], usage["limit"], usage["status"]) == (3, "turn", "limit")


ASKS_FIVE_TIMES = """
import contextlib, json, os, urllib.request

body = {"model": "m", "messages": [{"role": "user", "content": "`blend`"}]}
for _ in range(5):
    request = urllib.request.Request(os.environ["OPENAI_BASE_URL"].rstrip("/") + "/chat/completions",
                                     json.dumps(body).encode(), {"Content-Type": "application/json"})
    with contextlib.suppress(OSError):
        urllib.request.urlopen(request, timeout=60).read()
"""


def test_a_program_gets_as_many_generations_as_it_was_given(tmp_path):
    def script(request):
        return Reply("Go on.")

    folder = mounted(tmp_path, ASKS_FIVE_TIMES)
    arguments = ("--agent-command", f"python3 {folder}/agent.py", "--mount", folder, "--turns", 3)
    _, run, log = solved(tmp_path, script, *arguments)

    assert len(log.requests) == 1
    (usage,) = lines(run / "usage.jsonl")
    assert (usage["calls"], usage["limit"], usage["status"]) == (3, "turn", "limit")


AGENT = """
import json, os, urllib.request

def ask(path, body, key):
    request = urllib.request.Request(os.environ[key].rstrip("/") + path, json.dumps(body).encode(),
                                     {"Content-Type": "application/json", "Authorization": "Bearer x"})
    return json.load(urllib.request.urlopen(request, timeout=60))

instruction = open("instruction.md").read()
message = {"role": "user", "content": instruction}
reply = ask("/chat/completions", {"model": "gpt-4o", "messages": [message]}, "OPENAI_BASE_URL")
code = reply["choices"][0]["message"]["content"].split("```python\\n")[1].split("```")[0]
open("repo/blending.py", "w").write(code)
"""


def test_any_command_line_is_an_agent(tmp_path):
    folder = mounted(tmp_path, AGENT)

    def script(request):
        return Reply(f"```python\n{golden(asked_for(request))}\n```")

    arguments = ("--agent-command", f"python3 {folder}/agent.py", "--mount", folder)
    result, run, log = solved(tmp_path, script, *arguments)

    assert "1 of 1 answers pass" in result.stdout
    assert len(log.requests) == 1
    assert lines(run / "usage.jsonl")[0]["calls"] == 1


def test_the_clock_of_an_agent_starts_with_its_program(monkeypatch, tmp_path):
    @asynccontextmanager
    async def slow_bridge(state, **_):
        await anyio.sleep(1)
        yield SimpleNamespace(state=state)
        await anyio.sleep(0.7)

    async def listens():
        await anyio.sleep(0.4)

    async def done(command, prompt):
        await anyio.sleep(0.3)
        return ExecResult(True, 0, "", "")

    monkeypatch.setattr(agents, "sandbox_agent_bridge", slow_bridge)
    monkeypatch.setattr(agents, "_until_the_bridge_listens", listens)
    monkeypatch.setattr(agents, "_run_command", done)
    work = Task(
        dataset=[Sample(input="x")], solver=as_solver(agents.program_agent(agents.Program(command="program"), 3))
    )

    (log,) = eval(work, model="mockllm/model", display="none", log_dir=str(tmp_path))

    assert log.status == "success"
    (sample,) = log.samples or []
    assert sample.total_time is not None
    assert sample.working_time is not None
    assert sample.total_time - sample.working_time > 2.0
    assert sample.working_time > 0.2


def test_what_holds_answers_is_not_shown_to_an_agent(tmp_path):
    with serving(steps()) as (base, _):
        arguments = (
            "--model",
            MODEL,
            "--setting",
            "agent",
            "--agent-command",
            "true",
            "--mount",
            Path(__file__).parent,
        )
        result = lmrbench(base, "run", "--no-report", *arguments, "--out", tmp_path / "run")

    assert result.returncode == 2
    assert "can't be shown in a sandbox" in result.stderr
    assert result.stderr.count("\n") == 1
