"""The benchmark as a task of Inspect: one sample per task of the suite, in the prompt setting or the agent setting.

Options come from people, by `-T` or by the command line: a wrong one is an `OptionError`, which is one line in both.
"""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import anyio.to_thread
from inspect_ai import Epochs, Task, task
from inspect_ai._util.error import PrerequisiteError  # inspect-evals-lint: ignore[private_api_imports] -- no other
from inspect_ai.agent import as_solver
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.log import transcript
from inspect_ai.model import ChatMessageUser
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.util import SandboxEnvironmentSpec

from lmrbench.errors import LmrbenchError, SubmissionError, UsageError
from lmrbench.grading.reading import read_submission
from lmrbench.models.endings import answer_text
from lmrbench.models.settings import TASK_FIELDS, Settings, checked
from lmrbench.sandbox.backends.bubblewrap import refuse_secret
from lmrbench.solving.agents import solver_agent
from lmrbench.solving.attendance import Attendance
from lmrbench.solving.papers import paper_text
from lmrbench.solving.prompts import agent_message, prompt_message
from lmrbench.solving.provider import BubblewrapConfig
from lmrbench.solving.scoring import SuiteTasks, suite_tasks, unit_tests
from lmrbench.solving.secrets import secret_folders
from lmrbench.solving.session import WORKSPACE
from lmrbench.solving.snapshots import start_trace
from lmrbench.tasks.digests import grading_digest
from lmrbench.tasks.loading import suite_folder
from lmrbench.tasks.model import Task as SuiteTask
from lmrbench.tasks.model import Tier
from lmrbench.tasks.selection import select_with_draws
from lmrbench.tasks.submission import Submission
from lmrbench.tasks.tiers.forensic import forensic_name
from lmrbench.tasks.workspace import third_party_imports, workspace_files


class OptionError(LmrbenchError, PrerequisiteError):
    """An option has a value that it can't have. Inspect's command line, too, prints this as one line."""


@task
def lmr_bench(
    tasks: str | list[str] = "",
    tier: Tier = "function",
    fresh: int | None = None,
    seed: int | None = None,
    suite: str = "",
    run_folder: str | None = None,
    **settings: Any,
) -> Task:
    """LMR-BENCH: implement the masked function of an NLP paper's repository.

    Args:
        tasks: Task ids, papers, categories or globs, separated by commas; all if empty.
        tier: function, method, forensic or twin; an id names a task of any tier.
        fresh: With tier forensic, the seed of draws that are not the published ones.
        seed: Of the checks' cases; this machine's own if not given.
        suite: core, real, all, or the folder of a suite of your own.
        run_folder: Where to write submissions and grades too.
        settings: Those of `lmrbench.models.settings.TASK_FIELDS`, such as `setting=agent` or `samples=5`.
    """
    folder = suite_folder(suite).resolve()
    # Inspect splits the values of -T at commas.
    patterns = tasks.split(",") if isinstance(tasks, str) else list(map(str, tasks))
    try:
        if unknown := sorted(settings.keys() - set(TASK_FIELDS)):
            raise UsageError(f"{unknown[0]}=: there is no such option; there are {', '.join(TASK_FIELDS)}")
        given = checked(settings, spelling="{name}={value}")
        in_workspace = given.setting == "agent"
        known = suite_tasks(str(folder))
        chosen = _chosen(known, [pattern for pattern in patterns if pattern], tier, fresh)
        if unchecked := [item.id for item in chosen if not item.files.check]:
            raise UsageError(f"{', '.join(unchecked)}: no check, so that answers can't be graded; name other tasks")
        dataset = [_agent_sample(item, given) if in_workspace else _prompt_sample(item, given) for item in chosen]
        return Task(
            dataset=MemoryDataset(dataset, name="lmr_bench"),
            solver=work(
                str(folder), given.agent, given.agent_command, given.turns, given.time_limit, given.trace_progress
            )
            if in_workspace
            else answer(str(folder), given.repairs, given.time_limit),
            scorer=unit_tests(str(folder), in_workspace, seed, run_folder, given.system or None),
            sandbox=_sandbox(given, folder) if in_workspace else None,
            epochs=epochs_of(given.samples),
            turn_limit=given.turns if in_workspace else None,
            version=chosen[0].suite.version if chosen[0].suite else 0,
        )
    except LmrbenchError as error:
        raise OptionError(str(error)) from error


def epochs_of(samples: int) -> Epochs:
    """Inspect's name for so many answers to each task, and what it computes of them."""
    return Epochs(samples, ["mean", f"pass_at_{samples}"] if samples > 1 else ["mean"])


def _chosen(known: SuiteTasks, patterns: list[str], tier: Tier, fresh: int | None) -> tuple[SuiteTask, ...]:
    """The tasks that patterns name; forensic ones are made."""
    listed, draws = select_with_draws(tuple(known.values()), patterns, tier, fresh)
    return (*listed, *(known[f"{task.paper.slug}/{forensic_name(count, seed)}"] for task, count, seed in draws))


@solver
def answer(suite: str, repairs: int, time_limit: float | None) -> Solver:
    """One answer; while it can't be put into the repository, and repairs are left, the model hears why and tries again.

    What a check finds is never said.
    """

    attendance = Attendance(time_limit)

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        return await attendance.attend(state, lambda: converse(state, generate))

    async def converse(state: TaskState, generate: Generate) -> TaskState:
        suite_task = suite_tasks(suite)[str(state.sample_id)]
        state = await generate(state)
        for _ in range(repairs):
            submission = Submission(system="repair", task=suite_task.id, code=answer_text(transcript().events))
            try:
                await anyio.to_thread.run_sync(read_submission, suite_task, submission)
                break
            except SubmissionError as error:
                state.messages.append(ChatMessageUser(content=f"That can't be used: {error}. Answer again, in full."))
                state = await generate(state)
        return state

    return solve


@solver
def work(suite: str, agent: str, command: str, turns: int, time_limit: float | None, trace_progress: bool) -> Solver:
    """An agent works in the sample's workspace. trace_progress: take a snapshot of it after every turn."""
    attendance = Attendance(time_limit)
    inner = as_solver(solver_agent(agent, command, turns))

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        return await attendance.attend(state, lambda: traced(state, generate))

    async def traced(state: TaskState, generate: Generate) -> TaskState:
        if trace_progress:
            await start_trace(suite_tasks(suite)[str(state.sample_id)])
        return await inner(state, generate)

    return solve


def _prompt_sample(item: SuiteTask, settings: Settings) -> Sample:
    message = prompt_message(item, settings.inputs, settings.paper, settings.max_characters, settings.retrieve)
    cut = {name: {"kept": kept, "of": total} for name, (kept, total) in message.cut.items()}
    return Sample(
        id=item.id,
        input=message.text,
        metadata=_metadata(item, settings) | {"cut": cut, "retrieved": list(message.retrieved)},
    )


def _agent_sample(item: SuiteTask, settings: Settings) -> Sample:
    files = workspace_files(item, settings.inputs)
    if settings.paper != "summary":
        files["paper.md"] = paper_text(item, settings.paper).encode()
    # As data, so that no text is taken for the name of a file of this machine.
    encoded = {
        f"{WORKSPACE}/{name}": f"data:application/octet-stream;base64,{base64.b64encode(data).decode()}"
        for name, data in files.items()
    }
    packages = {"packages": ",".join(third_party_imports(item)), "requirements": "\n".join(item.paper.requirements)}
    return Sample(
        id=item.id,
        input=agent_message(item, WORKSPACE),
        files=encoded,
        metadata=_metadata(item, settings) | packages,
    )


def _metadata(item: SuiteTask, settings: Settings) -> dict[str, object]:
    return {
        "category": item.category,
        "paper": item.paper.title,
        "targets": [str(target) for target in item.targets],
        "inputs": settings.inputs,
        "paper_form": settings.paper,
        "task_digest": grading_digest(item),
    }


def _sandbox(settings: Settings, suite: Path) -> SandboxEnvironmentSpec:
    for folder in settings.mount:
        if not folder.startswith("/") or not Path(folder).exists():
            raise UsageError(f"mount: {folder}: must be the absolute path of a folder or file that exists")
    if settings.agent_sandbox == "bubblewrap":
        secrets = secret_folders(suite)
        refuse_secret(map(Path, settings.mount), secrets)
        hidden = tuple(map(str, secrets))
        return SandboxEnvironmentSpec("bubblewrap", BubblewrapConfig(shown=settings.mount, secrets=hidden))
    if settings.mount:
        raise UsageError("mount: is for bubblewrap alone; under docker, put what the agent needs into the image")
    return SandboxEnvironmentSpec("docker", str(Path(__file__).parent / "compose.yaml"))
