"""`--trace-progress`: grading of the workspace after each turn, unnoticed by the agent."""

import json
import signal
import time

import anyio
import inspect_ai
import pytest
from inspect_ai.log import list_eval_logs, read_eval_log
from inspect_ai.model import ModelOutput, get_model
from tests.running import Running
from tests.solving.helpers import GIVEN_UP, MODEL, USAGE, Gate, environment, lines, lmrbench, replies_of
from tests.solving.server import COMPLETION_TOKENS, PROMPT_TOKENS, Reply, serving
from tests.toy import FOLDER as TOY_SUITE

from lmrbench.solving import snapshots
from lmrbench.solving.task import lmr_bench

pytestmark = pytest.mark.sandbox

FILE = "/workspace/repo/blending.py"
RIGHT = (TOY_SUITE / "toy" / "repo" / "blending.py").read_text()
UNSCALED = RIGHT.replace("self.scale * ", "")
OUTCOME = ("turn", "matched", "cases", "correct")


def bash(text):
    return ("bash", {"command": text})


def write(text):
    return ("python", {"code": f"open({FILE!r}, 'w').write({text!r})"})


# Wrong at turn 2, right at turn 3, spoiled at turn 4, gone at turn 5, and right once more at the end.
WORK = [
    bash("ls -A . repo /tmp; ps aux 2>/dev/null | wc -l"),
    write(UNSCALED),
    write(RIGHT),
    write(UNSCALED),
    bash(f"rm {FILE}"),
    write(f"# The same.\n{RIGHT}"),
    ("submit", {"answer": "done"}),
]
STATES = [(2, 1, 4, False), (3, 4, 4, True), (4, 1, 4, False), (5, 0, 4, False), (6, 4, 4, True), (7, 4, 4, True)]


def working(*tools):
    def script(request):
        return Reply(tool=tools[replies_of(request)])

    return script


def arguments(run, *options):
    return ("run", "--no-report", "--suite", TOY_SUITE, "--model", MODEL, "--setting", "agent", "--out", run, *options)


def outcomes(run):
    return [tuple(item[name] for name in OUTCOME) for item in lines(run / "progress.jsonl")]


def told(log):
    """Return the messages of each request, without random ids."""
    text = json.dumps([item.messages for item in log.requests])
    for item in log.requests:
        for message in item.messages:
            for call in message.get("tool_calls") or ():
                text = text.replace(call["id"], "id")
    return text


def events(run):
    """Return the kinds of the events in the agent's transcript, in order."""
    (info,) = list_eval_logs(str(run / "logs"))
    kinds = [event.event for event in read_eval_log(info).samples[0].events]
    return kinds[: kinds.index("score")]


@pytest.fixture(scope="module")
def traced(tmp_path_factory):
    """Create a traced run; return it with the messages to its model."""
    run = tmp_path_factory.mktemp("traced") / "run"
    prices = run.parent / "prices.json"
    prices.write_text(json.dumps({MODEL: {"input": 1.0, "output": 10.0}}))
    with serving(working(*WORK)) as (base, log):
        result = lmrbench(base, *arguments(run, "--trace-progress", "--prices", prices))
    assert result.returncode == 0, result.stderr
    return result, run, log


def test_each_change_has_a_line_with_its_verdict_and_what_was_spent_until_then(traced):
    result, run, _ = traced
    found = lines(run / "progress.jsonl")

    assert "until right" in result.stdout
    assert outcomes(run) == STATES
    for item in found:
        assert (item["system"], item["task"], item["sample"]) == (MODEL, "toy/blend", 0)
        assert item["tool_calls"] == item["turn"]
        assert item["input_tokens"] == PROMPT_TOKENS * item["turn"]
        assert item["output_tokens"] == COMPLETION_TOKENS * item["turn"]
        assert item["dollars"] == pytest.approx((PROMPT_TOKENS + 10 * COMPLETION_TOKENS) * item["turn"] / 1e6)
    seconds = [item["seconds"] for item in found]
    assert seconds == sorted(seconds)
    assert seconds[0] > 0


def test_the_last_line_agrees_with_grade_and_usage(traced):
    _, run, _ = traced
    (grade,), (usage,), *_ = lines(run / "grades.jsonl"), lines(run / "usage.jsonl")
    *_, before, last = lines(run / "progress.jsonl")

    assert last["correct"] == before["correct"] == grade["correct"]
    assert last["matched"] == before["matched"] == sum(case["verdict"] == "match" for case in grade["cases"])
    assert last["turn"] == usage["calls"]
    for name in ("input_tokens", "output_tokens", "seconds", "dollars"):
        assert last[name] == usage[name]


def test_the_agent_can_not_tell(traced, tmp_path):
    _, run, log = traced
    with serving(working(*WORK)) as (base, plain):
        result = lmrbench(base, *arguments(tmp_path / "run"))

    assert result.returncode == 0, result.stderr
    assert told(log) == told(plain)
    assert events(run) == events(tmp_path / "run")
    assert not (tmp_path / "run" / "progress.jsonl").exists()


PROGRAM = f"""
import json, os, urllib.request

def ask():
    body = {{"model": "m", "messages": [{{"role": "user", "content": "Go on."}}]}}
    address = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
    request = urllib.request.Request(address, json.dumps(body).encode(), {{"Content-Type": "application/json"}})
    return json.load(urllib.request.urlopen(request, timeout=60))

for text in ({RIGHT!r}, {UNSCALED!r}, {UNSCALED!r}):
    ask()
    open({FILE!r}, "w").write(text)
"""


def test_each_call_of_a_program_is_a_turn(tmp_path):
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "program.py").write_text(PROGRAM)
    for folder in (tmp_path / "tools", tmp_path):
        folder.chmod(0o755)
    options = ("--agent-command", f"python3 {tmp_path}/tools/program.py", "--mount", tmp_path / "tools")
    with serving(lambda request: Reply("Well.")) as (base, _):
        result = lmrbench(base, *arguments(tmp_path / "run", "--trace-progress", *options))

    assert result.returncode == 0, result.stderr
    assert outcomes(tmp_path / "run") == [(1, 4, 4, True), (2, 1, 4, False), (3, 1, 4, False)]


def test_taking_snapshots_is_no_work_of_the_agent(tmp_path, monkeypatch):
    read = snapshots.read_workspace

    async def slow(paths):
        await anyio.sleep(0.5)
        return await read(paths)

    def output(messages, *_):
        call = WORK[sum(message.role == "assistant" for message in messages)]
        said = ModelOutput.for_tool_call("mockllm/model", *call)
        said.usage = USAGE
        return said

    monkeypatch.setattr(snapshots, "read_workspace", slow)
    task = lmr_bench(suite=str(TOY_SUITE), setting="agent", trace_progress=True)
    model = get_model("mockllm/model", custom_outputs=output)
    (log,) = inspect_ai.eval(task, model=model, log_dir=str(tmp_path), display="none")

    assert log.samples is not None
    (sample,) = log.samples
    noted = next(iter(sample.scores.values())).metadata["snapshots"]
    assert [tuple(item[name] for name in OUTCOME) for item in noted] == STATES
    # One snapshot before the agent begins, and one between any two turns.
    assert (sample.total_time or 0.0) - (sample.working_time or 0.0) >= 0.5 * len(WORK)


def test_a_kill_loses_and_doubles_nothing(tmp_path):
    gate = Gate()

    def script(request):
        return working(*WORK)(request) if gate.passed() else GIVEN_UP

    run = tmp_path / "run"
    with serving(script) as (base, log):
        gate.open(4)
        process = Running(arguments(run, "--trace-progress"), environment(base))
        deadline = time.monotonic() + 60
        while len(log.requests) < 5 and time.monotonic() < deadline:
            time.sleep(0.05)
        process.send_signal(signal.SIGKILL)
        process.wait()
        gate.give_up()
        gate.open(1000)
        result = lmrbench(base, *arguments(run, "--trace-progress"))

    assert result.returncode == 0, result.stderr
    assert outcomes(run) == STATES


def test_a_run_is_traced_from_the_start_or_not_at_all(traced):
    _, run, _ = traced
    result = lmrbench("http://127.0.0.1:1", *arguments(run))
    assert result.returncode == 2
    assert "contains answers made with other settings (trace_progress " in result.stderr
