"""The benchmark as a task of Inspect, the framework that calls models.

It has one sample for each task of the suite. If agents solve the tasks, it has one for each session, in which an agent
solves one or several tasks. An invalid option raises `OptionError`, which both Inspect's command line (`-T`) and that
of lmrbench print as one line.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import anyio.to_thread
import yaml
from inspect_ai import Epochs, Task, task
from inspect_ai._util.error import PrerequisiteError  # inspect-evals-lint: ignore[private_api_imports] -- no public one
from inspect_ai.agent import as_solver
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.log import transcript
from inspect_ai.model import ChatMessageUser
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.util import ComposeConfig, SandboxEnvironmentSpec

from lmrbench.errors import LmrbenchError, SubmissionError, UsageError
from lmrbench.grading.reading import read_submission
from lmrbench.models.endings import answer_text
from lmrbench.models.settings import TASK_FIELDS, Settings, checked
from lmrbench.records import grouped
from lmrbench.runs.logs import TASKS, session_id
from lmrbench.sandbox.backends.bubblewrap import refuse_secret
from lmrbench.solving.agents import solver_agent
from lmrbench.solving.attendance import Attendance
from lmrbench.solving.papers import paper_pdf, paper_text
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
from lmrbench.tasks.workspace import instruction, session_instruction, third_party_imports, workspace_files


class OptionError(LmrbenchError, PrerequisiteError):
    """An option has an invalid value. Inspect's command line prints this error as one line."""


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
        tasks: Task ids, papers, categories or globs, separated by commas; all tasks if empty.
        tier: Kind of tasks: function, method, forensic or twin. A full task id selects a task of any tier.
        fresh: In the forensic tier, the seed of newly drawn tasks, which replace the published ones.
        seed: Seed of the checks' cases; this machine's own seed by default.
        suite: core, real, live, all, or the folder of your own suite.
        run_folder: A run folder to which submissions and grades are written, in addition to Inspect's log.
        settings: Values of fields in `lmrbench.models.settings.TASK_FIELDS`, such as `setting=agent` or `samples=5`.

    Raises:
        OptionError: an option has an invalid value.
    """
    folder = suite_folder(suite).resolve()
    # Inspect's command line splits the values of -T at commas into lists.
    patterns = tasks.split(",") if isinstance(tasks, str) else list(map(str, tasks))
    try:
        if unknown := sorted(settings.keys() - set(TASK_FIELDS)):
            raise UsageError(f"{unknown[0]}=: no such option; use {', '.join(TASK_FIELDS)}")
        given = checked(settings, spelling="{name}={value}")
        in_workspace = given.setting == "agent"
        known = suite_tasks(str(folder))
        chosen = _chosen(known, [pattern for pattern in patterns if pattern], tier, fresh)
        if unchecked := [item.id for item in chosen if not item.files.check]:
            raise UsageError(f"{', '.join(unchecked)}: no check to grade answers with; choose other tasks")
        if in_workspace:
            dataset = [_agent_sample(items, given) for items in _sessions(chosen, given)]
        else:
            dataset = [_prompt_sample(item, given) for item in chosen]
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
    """Return Inspect's epochs for a number of answers per task, with the reducers that combine their scores."""
    return Epochs(samples, ["mean", f"pass_at_{samples}"] if samples > 1 else ["mean"])


def _chosen(known: SuiteTasks, patterns: list[str], tier: Tier, fresh: int | None) -> tuple[SuiteTask, ...]:
    """Return the tasks that patterns select. Forensic tasks are created when they are selected."""
    listed, draws = select_with_draws(tuple(known.values()), patterns, tier, fresh)
    return (*listed, *(known[f"{task.paper.slug}/{draw}"] for task, draw in draws))


@solver
def answer(suite: str, repairs: int, time_limit: float | None) -> Solver:
    """Ask the model for an answer, and ask again if the answer can't be inserted into the repository.

    The model is told why its answer can't be used, but nothing about the results of the check.

    Args:
        suite: the suite's folder.
        repairs: the maximum number of further attempts.
        time_limit: maximum seconds of working time for a sample; None for no limit.
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
                state.messages.append(
                    ChatMessageUser(content=f"Your answer can't be used: {error}. Answer again, in full.")
                )
                state = await generate(state)
        return state

    return solve


@solver
def work(suite: str, agent: str, command: str, turns: int, time_limit: float | None, trace_progress: bool) -> Solver:
    """Have an agent work in the sample's workspace.

    Args:
        suite: the suite's folder.
        agent: the name of an agent; see `solver_agent`.
        command: the command line of an agent, or ""; see `solver_agent`.
        turns: the maximum number of model calls.
        time_limit: maximum seconds of working time for a sample; None for no limit.
        trace_progress: whether to take a snapshot of the workspace after every turn.
    """
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
    message = prompt_message(
        item, settings.inputs, settings.paper, settings.max_characters, settings.retrieve, settings.prompt_form
    )
    cut = {name: {"kept": kept, "of": total} for name, (kept, total) in message.cut.items()}
    return Sample(
        id=item.id,
        input=message.text,
        metadata=_metadata([item], settings) | {"cut": cut, "retrieved": list(message.retrieved)},
    )


def _sessions(tasks: Sequence[SuiteTask], settings: Settings) -> list[list[SuiteTask]]:
    """Group tasks into sessions. The tasks of a session are solved together in one workspace."""
    if settings.session == "task":
        return [[task] for task in tasks]
    # Each forensic task changes the repository in its own way, so forensic tasks never share a workspace.
    return list(grouped(tasks, lambda task: task.id if task.draw else f"{task.paper.slug} {task.tier}").values())


def _agent_sample(items: Sequence[SuiteTask], settings: Settings) -> Sample:
    item, paper, inputs = items[0], settings.paper, settings.inputs
    files = workspace_files(item, inputs)
    if len(items) > 1:
        if inputs == "paper+file":
            files |= {path: data for other in items for path, data in workspace_files(other, inputs).items()}
        files["instruction.md"] = session_instruction(items, inputs, paper).encode()
    elif paper != "summary":
        files["instruction.md"] = instruction(item, inputs, paper).encode()
    if paper == "pdf-file":
        del files["paper.md"]
        files["paper.pdf"] = paper_pdf(item)
    else:
        files["paper.md"] = paper_text(item, paper).encode()
    # If a file's text were the path of a local file, Inspect would insert the content of that file. Data URLs prevent
    # this.
    encoded = {
        f"{WORKSPACE}/{name}": f"data:application/octet-stream;base64,{base64.b64encode(data).decode()}"
        for name, data in files.items()
    }
    imports = sorted({name for one in items for name in third_party_imports(one)})
    packages = {"packages": ",".join(imports), "requirements": "\n".join(item.paper.requirements)}
    return Sample(
        id=item.id if len(items) == 1 else session_id(item.paper.slug, item.tier),
        input=agent_message(items, WORKSPACE, paper),
        files=encoded,
        metadata=_metadata(items, settings) | packages,
    )


def _metadata(items: Sequence[SuiteTask], settings: Settings) -> dict[str, object]:
    shared = {
        "paper": items[0].paper.title,
        "targets": [str(target) for item in items for target in item.targets],
        "inputs": settings.inputs,
        "paper_form": settings.paper,
    }
    if len(items) == 1:
        return {"category": items[0].category, **shared, "task_digest": grading_digest(items[0])}
    return {"category": "several", **shared, TASKS: [item.id for item in items]}


def _sandbox(settings: Settings, suite: Path) -> SandboxEnvironmentSpec:
    for folder in settings.mount:
        if not folder.startswith("/") or not Path(folder).exists():
            raise UsageError(f"mount: {folder} is not an absolute path, or does not exist")
    if settings.agent_sandbox == "bubblewrap":
        if settings.agent_image:
            raise UsageError("agent_image works with docker only; with bubblewrap, mount the folder of the program")
        secrets = secret_folders(suite)
        refuse_secret(map(Path, settings.mount), secrets)
        hidden = tuple(map(str, secrets))
        return SandboxEnvironmentSpec("bubblewrap", BubblewrapConfig(shown=settings.mount, secrets=hidden))
    if settings.mount:
        raise UsageError("mount works with bubblewrap only; with docker, add the files to the image")
    recipe = Path(__file__).parent / "compose.yaml"
    if not settings.agent_image:
        return SandboxEnvironmentSpec("docker", str(recipe))
    compose = yaml.safe_load(recipe.read_text("utf-8"))
    service = compose["services"]["default"]
    del service["build"]
    # With `x-local`, Inspect pulls the image only if this machine does not have it.
    service |= {"image": settings.agent_image, "x-local": True}
    return SandboxEnvironmentSpec("docker", ComposeConfig.model_validate(compose))
