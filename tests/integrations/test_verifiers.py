"""A trainer that uses verifiers gets tasks, and a reward that is graded in our sandbox; a fault of ours is none."""

import asyncio
import json
from pathlib import Path

import pytest

from lmrbench.errors import SandboxError

# It needs another version of openai than Inspect does, and so an environment of its own.
vf = pytest.importorskip("verifiers.v1", reason="NOT TESTED: verifiers is not installed; see make test-verifiers")

from lmrbench.integrations import verifiers as verifiers_tasks  # noqa: E402
from lmrbench.integrations.verifiers import LmrBenchAgentTaskset, LmrBenchConfig, LmrBenchTaskset  # noqa: E402

pytestmark = pytest.mark.sandbox


class Container:
    """What a task uses of a runtime: files."""

    def __init__(self):
        self.files = {}

    async def write(self, path, data):
        self.files[path] = data

    async def read(self, path, max_bytes):
        if path not in self.files:
            raise FileNotFoundError(path)
        if len(self.files[path]) > max_bytes:
            raise vf.SandboxError("too large")
        return self.files[path]


def config(toy_suite, **more):
    return LmrBenchConfig(suite=str(toy_suite), tasks=["toy/blend"], **more)


def rollout(task, reply=""):
    trace = vf.Trace[type(task.data), vf.State, vf.AgentConfig](
        task={"type": type(task).__name__, "data": task.data}, agent={"config": vf.AgentConfig()}
    )
    trace.root_reply = reply
    return trace


def scored(task, reply="", runtime=None):
    trace = rollout(task, reply)
    asyncio.run(task.score(trace, runtime))
    return trace


@pytest.fixture
def golden(toy_suite):
    return (toy_suite / "toy" / "repo" / "blending.py").read_text()


@pytest.fixture
def mistaken(golden):
    return golden.replace("self.scale * sum", "sum")


def test_an_answer_earns_what_its_grade_is_and_the_trace_tells_nothing_of_expected_values(toy_suite, golden, mistaken):
    (task,) = LmrBenchTaskset(config(toy_suite))
    assert "blend" in task.data.prompt_text
    assert golden not in task.data.model_dump_json()
    right, wrong, none = (scored(task, reply) for reply in (f"```python\n{golden}\n```", mistaken, "I can't do that."))
    assert [trace.reward for trace in (right, wrong, none)] == [1.0, 0.0, 0.0]
    assert right.metrics["share"] == 1.0
    assert 0 <= wrong.metrics["share"] < 1
    assert "expected" not in json.dumps(wrong.info)


def test_the_reward_may_be_the_share_of_cases(toy_suite, mistaken):
    (task,) = LmrBenchTaskset(config(toy_suite, task={"reward": "share"}))
    trace = scored(task, mistaken)
    assert 0 < trace.reward == trace.metrics["share"]


def test_an_agents_answer_is_the_goal_file_that_it_leaves_in_its_container(toy_suite, golden):
    (task,) = LmrBenchAgentTaskset(config(toy_suite))
    assert task.NEEDS_CONTAINER
    container = Container()
    asyncio.run(task.setup(rollout(task), container))
    assert {"/workspace/instruction.md", "/workspace/paper.md"} < set(container.files)
    assert golden.encode() not in container.files.values()
    assert scored(task, runtime=container).reward == 0.0
    container.files["/workspace/repo/blending.py"] = golden.encode()
    assert scored(task, runtime=container).reward == 1.0
    container.files["/workspace/repo/blending.py"] = golden.encode() + b"#" * (1 << 20)
    assert scored(task, runtime=container).reward == 0.0
    del container.files["/workspace/repo/blending.py"]
    assert scored(task, runtime=container).reward == 0.0


def test_the_reference_of_a_task_passes(toy_suite):
    (task,) = LmrBenchTaskset(config(toy_suite))
    assert asyncio.run(task.validate(Container()))


def test_a_machine_that_cannot_grade_is_an_error_and_no_reward(toy_suite, golden, monkeypatch):
    async def fails(*_):
        raise SandboxError("no sandbox")

    (task,) = LmrBenchTaskset(config(toy_suite))
    monkeypatch.setattr(verifiers_tasks._grader(str(toy_suite), "bubblewrap", None), "grade_async", fails)
    trace = rollout(task, golden)
    with pytest.raises(vf.TaskError, match="no sandbox"):
        asyncio.run(task.score(trace))
    assert not any(trace.rewards.values())
    verifiers_tasks._grader.cache_clear()


def test_the_environment_of_one_message_sends_it_without_tools(monkeypatch):
    from verifiers.v1.utils.loaders import default_harness_id, harness_class

    monkeypatch.syspath_prepend(Path(__file__).parents[2] / "environments" / "lmr_bench")
    assert not harness_class(default_harness_id("lmr-bench")).EXECUTES_CODE
