"""The benchmark as a task of Inspect: a sample a task of the suite, in the prompt setting or the agent setting.

Options come from people, by `-T` or by the command line: a wrong one is an `OptionError`, which is one line in both.
"""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Literal, get_args

import anyio.to_thread
from inspect_ai import Epochs, Task, task
from inspect_ai._util.error import PrerequisiteError  # inspect-evals-lint: ignore[private_api_imports] -- no other
from inspect_ai.agent import as_solver
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.log import transcript
from inspect_ai.model import ChatMessageUser
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.util import SandboxEnvironmentSpec

from lmrbench.errors import LmrbenchError, SubmissionError
from lmrbench.grading.reading import read_submission
from lmrbench.grading.secrets import secret_folders
from lmrbench.sandbox.bubblewrap import refuse_secret
from lmrbench.solving.agents import solver_agent
from lmrbench.solving.attendance import Attendance
from lmrbench.solving.papers import Form, paper_text
from lmrbench.solving.prompts import agent_message, prompt_message
from lmrbench.solving.provider import BubblewrapConfig
from lmrbench.solving.scoring import suite_tasks, unit_tests
from lmrbench.solving.session import WORKSPACE
from lmrbench.solving.status import answer_text
from lmrbench.tasks.loading import default_suite
from lmrbench.tasks.model import Inputs
from lmrbench.tasks.model import Task as SuiteTask
from lmrbench.tasks.submission import Submission
from lmrbench.tasks.workspace import third_party_imports, workspace_files

Setting = Literal["prompt", "agent"]
Sandbox = Literal["bubblewrap", "docker"]
TURNS = 50
# About a hundred thousand tokens.
MOST_CHARACTERS = 400_000


class OptionError(LmrbenchError, PrerequisiteError):
    """An option has a value that it can't have. Inspect's command line, too, prints this as one line."""


@task
def lmr_bench(
    setting: Setting = "prompt",
    inputs: Inputs = "full",
    paper: Form = "digest",
    tasks: str | list[str] = "",
    samples: int = 1,
    repairs: int = 0,
    agent: str = "react",
    agent_command: str = "",
    turns: int = TURNS,
    time_limit: float | None = None,
    sandbox: Sandbox = "bubblewrap",
    shown: str = "",
    max_characters: int = MOST_CHARACTERS,
    seed: int | None = None,
    suite: str = "",
    run_folder: str | None = None,
    system: str | None = None,
) -> Task:
    """LMR-BENCH: implement the masked function of an NLP paper's repository.

    Args:
        setting: `prompt` (one message, one answer) or `agent` (a workspace and tools).
        inputs: What is shown: `full`, `paper+file` or `paper`.
        paper: The paper's form: `digest`, or, once fetched, `pdf` or `latex`.
        tasks: Task ids, papers, categories or globs, separated by commas; all if empty.
        samples: Answers to each task; more than one adds pass@k.
        repairs: In the prompt setting, how often a model may mend an answer that can't be put into the repository.
        agent: In the agent setting: react, claude_code, codex_cli, gemini_cli, mini_swe_agent or openhands.
        agent_command: In the agent setting, a command line to run in the workspace instead.
        turns: The most generations of an agent.
        time_limit: The most seconds of work on one task; waiting for the provider does not count.
        sandbox: Where agents work: `bubblewrap` or `docker`.
        shown: Folders of this machine that the agent's program needs, separated by colons; bubblewrap only.
        max_characters: The longest prompt; the paper is cut first.
        seed: Of the checks' cases; this machine's own if not given.
        suite: The folder of another suite.
        run_folder: Where to write submissions and grades too.
        system: Who answers, as records will name it; the model if not given.
    """
    for name, value, allowed in (
        ("setting", setting, Setting),
        ("inputs", inputs, Inputs),
        ("paper", paper, Form),
        ("sandbox", sandbox, Sandbox),
    ):
        if value not in get_args(allowed):
            raise OptionError(f"{name}={value}: there are {', '.join(get_args(allowed))}")
    for name, number, least in (("samples", samples, 1), ("repairs", repairs, 0), ("turns", turns, 1)):
        if not isinstance(number, int) or number < least:
            raise OptionError(f"{name}={number}: must be a whole number of at least {least}")
    folder = Path(suite).resolve() if suite else default_suite()
    # Inspect splits the values of -T at commas.
    patterns = tasks if isinstance(tasks, str) else ",".join(map(str, tasks))
    in_workspace = setting == "agent"
    try:
        chosen = suite_tasks(str(folder), patterns).values()
        dataset = [
            _agent_sample(item, inputs, paper) if in_workspace else _prompt_sample(item, inputs, paper, max_characters)
            for item in chosen
        ]
        return Task(
            dataset=MemoryDataset(dataset, name="lmr_bench"),
            solver=work(agent, agent_command, turns, time_limit)
            if in_workspace
            else answer(str(folder), patterns, repairs, time_limit),
            scorer=unit_tests(str(folder), patterns, in_workspace, seed, run_folder, system),
            sandbox=_sandbox(sandbox, folder, shown) if in_workspace else None,
            epochs=Epochs(samples, ["mean", f"pass_at_{samples}"] if samples > 1 else ["mean"]),
            turn_limit=turns if in_workspace else None,
            version=1,
        )
    except LmrbenchError as error:
        raise OptionError(str(error)) from error


@solver
def answer(suite: str, tasks: str, repairs: int, time_limit: float | None) -> Solver:
    """One answer; while it can't be put into the repository, and repairs are left, the model hears why and tries again.

    What a check finds is never said.
    """

    attendance = Attendance(time_limit)

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        return await attendance.attend(state, lambda: converse(state, generate))

    async def converse(state: TaskState, generate: Generate) -> TaskState:
        suite_task = suite_tasks(suite, tasks)[str(state.sample_id)]
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
def work(agent: str, command: str, turns: int, time_limit: float | None) -> Solver:
    """An agent works in the sample's workspace."""
    attendance = Attendance(time_limit)
    inner = as_solver(solver_agent(agent, command, turns))

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        return await attendance.attend(state, lambda: inner(state, generate))

    return solve


def _prompt_sample(item: SuiteTask, inputs: Inputs, paper: Form, limit: int) -> Sample:
    message = prompt_message(item, inputs, paper, limit)
    cut = {name: {"kept": kept, "of": total} for name, (kept, total) in message.cut.items()}
    return Sample(id=item.id, input=message.text, metadata=_metadata(item, inputs, paper) | {"cut": cut})


def _agent_sample(item: SuiteTask, inputs: Inputs, paper: Form) -> Sample:
    files = workspace_files(item, inputs)
    if paper != "digest":
        files["paper.md"] = paper_text(item, paper).encode()
    # As data, so that no text is taken for the name of a file of this machine.
    encoded = {
        f"{WORKSPACE}/{name}": f"data:application/octet-stream;base64,{base64.b64encode(data).decode()}"
        for name, data in files.items()
    }
    return Sample(
        id=item.id,
        input=agent_message(item, WORKSPACE),
        files=encoded,
        metadata=_metadata(item, inputs, paper) | {"packages": ",".join(third_party_imports(item))},
    )


def _metadata(item: SuiteTask, inputs: Inputs, paper: Form) -> dict[str, object]:
    return {
        "category": item.category,
        "paper": item.paper.title,
        "targets": [str(target) for target in item.targets],
        "inputs": inputs,
        "paper_form": paper,
    }


def _sandbox(name: Sandbox, suite: Path, shown: str) -> SandboxEnvironmentSpec:
    folders = tuple(folder for folder in shown.split(":") if folder)
    for folder in folders:
        if not folder.startswith("/") or not Path(folder).exists():
            raise OptionError(f"shown={folder}: must be the whole path of a folder or file that is there")
    if name == "bubblewrap":
        secrets = secret_folders(suite)
        refuse_secret(map(Path, folders), secrets)
        return SandboxEnvironmentSpec("bubblewrap", BubblewrapConfig(shown=folders, secrets=tuple(map(str, secrets))))
    if folders:
        raise OptionError("shown: is for bubblewrap alone; under docker, put what the agent needs into the image")
    return SandboxEnvironmentSpec("docker", str(Path(__file__).parent / "compose.yaml"))
