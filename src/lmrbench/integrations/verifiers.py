"""Tasksets for `verifiers`, a library for reinforcement learning with language models, and for trainers that use it.

In `LmrBenchTaskset`, a model answers one message with a function. In `LmrBenchAgentTaskset`, an agent works in a
container. The packages in `environments/` export these tasksets. Answers are graded on the trainer's machine, in
lmrbench's sandbox, on cases (inputs) that are drawn anew for each answer.
"""

from __future__ import annotations

import atexit
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, Literal

import verifiers.v1 as vf
from pydantic import Field

from lmrbench.grading.grader import Grader
from lmrbench.grading.plan import KEPT_IN_TRAINING, GradingPlan
from lmrbench.models.settings import MOST_CHARACTERS
from lmrbench.sandbox.protocol import DEFAULT_SANDBOX
from lmrbench.solving.prompts import agent_message, prompt_message
from lmrbench.source.syntax import decode
from lmrbench.tasks.loading import load_suite, suite_folder
from lmrbench.tasks.model import Inputs, Task
from lmrbench.tasks.selection import select
from lmrbench.tasks.workspace import answered_files, workspace_files

_GRADE = "lmrbench"
_WORKSPACE = "/workspace"
_MOST_BYTES = 1 << 20


class LmrBenchTaskConfig(vf.TaskConfig):
    """The settings for grading.

    Attributes:
        reward: `correct` (1 if all ordinary cases match, else 0), `robust` (1 if all cases match, including edge cases,
            else 0), or `share` (the share of ordinary cases that match; see `Grade.share`).
        sandbox: the back end of the sandbox, or `auto`.
        workers: the number of processes that grade; None for one per core.
    """

    reward: Literal["correct", "robust", "share"] = "correct"
    sandbox: str = DEFAULT_SANDBOX
    workers: int | None = None


class LmrBenchConfig(vf.TasksetConfig):
    """The tasks of a taskset.

    Attributes:
        suite: core, real, live, all, or the folder of a suite.
        tasks: the tasks to use, named by ids, papers, categories or globs; empty for all tasks.
        inputs: the files that the model or agent gets: `full`, `paper+file` or `paper`.
        max_characters: the maximum length of a prompt.
    """

    suite: str = "core"
    tasks: list[str] = Field(default_factory=list)
    inputs: Inputs = "full"
    max_characters: int = MOST_CHARACTERS
    task: LmrBenchTaskConfig = LmrBenchTaskConfig()


class LmrBenchData(vf.TaskData):
    """The data of one task.

    Attributes:
        suite: see `LmrBenchConfig.suite`.
        inputs: see `LmrBenchConfig.inputs`.
        goal_files: the files from which an agent's answer is read.
    """

    suite: str
    inputs: Inputs
    goal_files: tuple[str, ...]


class _Graded(vf.Task[LmrBenchData, vf.State, LmrBenchTaskConfig]):
    async def candidate(self, trace: vf.Trace, runtime: vf.Runtime | None) -> str | Mapping[str, str]:
        raise NotImplementedError

    async def validate(self, runtime: vf.Runtime) -> bool:
        """Return whether the reference implementation passes the check of the task."""
        task = _tasks(self.data.suite)[str(self.data.id)]
        files = answered_files(task)
        grader = _grader(self.data.suite, self.config.sandbox, self.config.workers)
        grade = await grader.grade_async(task.id, {name: decode(files[name])[0] for name in task.goal_files})
        return grade.robust

    @vf.metric
    async def cases(self, trace: vf.Trace, runtime: vf.Runtime | None = None) -> dict[str, float]:
        """Return the share of ordinary cases that match, and the number of all cases, including edge cases."""
        grade = await self._grade(trace, runtime)
        return {"share": grade["share"], "cases": grade["cases"]}

    @vf.reward
    async def solved(self, trace: vf.Trace, runtime: vf.Runtime | None = None) -> float:
        """Return the reward. A fault of the suite or the machine raises an error instead of giving a reward of 0."""
        return float((await self._grade(trace, runtime))[self.config.reward])

    async def _grade(self, trace: vf.Trace, runtime: vf.Runtime | None) -> dict[str, float]:
        """Grade a rollout once, and store a summary of the grade in its trace. The summary has no expected values."""
        if _GRADE not in trace.info:
            grader = _grader(self.data.suite, self.config.sandbox, self.config.workers)
            grade = await grader.grade_async(str(self.data.id), await self.candidate(trace, runtime))
            trace.info[_GRADE] = {
                "share": grade.share,
                "correct": float(grade.correct),
                "robust": float(grade.robust),
                "cases": float(len(grade.cases)),
                "verdicts": [case.verdict for case in grade.cases],
            }
        found: dict[str, float] = trace.info[_GRADE]
        return found


class LmrBenchTask(_Graded):
    """A task that a model answers in one message."""

    async def candidate(self, trace: vf.Trace, runtime: vf.Runtime | None) -> str:
        """Return the model's last reply."""
        return str(trace.last_reply)


class LmrBenchAgentTask(_Graded):
    """A task that an agent solves in a container, so that it has no access to the answers on this machine."""

    NEEDS_CONTAINER = True

    async def setup(self, trace: vf.Trace, runtime: vf.Runtime) -> None:
        """Write the workspace into the container."""
        task = _tasks(self.data.suite)[str(self.data.id)]
        for path, data in workspace_files(task, self.data.inputs).items():
            await runtime.write(f"{_WORKSPACE}/{path}", bytes(data))

    async def candidate(self, trace: vf.Trace, runtime: vf.Runtime | None) -> dict[str, str]:
        """Return the goal files from the agent's workspace, without those that are missing or too large."""
        found = {}
        for name in self.data.goal_files:
            try:
                assert runtime is not None
                data = await runtime.read(f"{_WORKSPACE}/repo/{name}", max_bytes=_MOST_BYTES)
            except (OSError, vf.SandboxError):
                continue
            found[name] = data.decode("utf-8", "replace")
        return found


class LmrBenchTaskset(vf.Taskset[LmrBenchTask, LmrBenchConfig]):
    """Tasks that a model answers in one message."""

    def load(self) -> Iterable[LmrBenchTask]:
        """Yield the tasks that the configuration selects."""
        for task in _chosen(self.config):
            prompt = prompt_message(task, self.config.inputs, "summary", self.config.max_characters).text
            yield LmrBenchTask(_data(task, self.config, prompt), self.config.task)


class LmrBenchAgentTaskset(vf.Taskset[LmrBenchAgentTask, LmrBenchConfig]):
    """Tasks that an agent solves in a workspace."""

    def load(self) -> Iterable[LmrBenchAgentTask]:
        """Yield the tasks that the configuration selects."""
        for task in _chosen(self.config):
            data = _data(task, self.config, agent_message([task], _WORKSPACE), workdir=_WORKSPACE)
            yield LmrBenchAgentTask(data, self.config.task)


def _chosen(config: LmrBenchConfig) -> tuple[Task, ...]:
    return select(_tasks(config.suite).values(), config.tasks)


def _data(task: Task, config: LmrBenchConfig, prompt: str, **more: Any) -> LmrBenchData:
    return LmrBenchData(
        id=task.id,
        name=task.id,
        prompt=prompt,
        suite=config.suite,
        inputs=config.inputs,
        goal_files=task.goal_files,
        **more,
    )


@cache
def _tasks(suite: str) -> dict[str, Task]:
    return {task.id: task for task in load_suite(suite_folder(suite))}


@cache
def _grader(suite: str, sandbox: str, workers: int | None) -> Grader:
    """Return the grader that all rollouts in this process share, so that its worker processes are reused."""
    grader = Grader(suite, GradingPlan(sandbox=sandbox, workers=workers, kept=KEPT_IN_TRAINING))
    atexit.register(grader.close)
    return grader
