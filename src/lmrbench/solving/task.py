"""The benchmark as a task of Inspect: a sample a task of the suite, in the prompt setting or the agent setting."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Literal

import anyio.to_thread
from inspect_ai import Epochs, Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ChatMessageUser
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.util import SandboxEnvironmentSpec

from lmrbench.errors import LmrbenchError, SubmissionError
from lmrbench.grading.reading import read_submission
from lmrbench.grading.secrets import secret_folders
from lmrbench.sandbox.bubblewrap import refuse_secret
from lmrbench.solving.agents import solver_agent
from lmrbench.solving.papers import Form, paper_text
from lmrbench.solving.prompts import agent_message, prompt_message
from lmrbench.solving.provider import BubblewrapConfig
from lmrbench.solving.scoring import suite_tasks, unit_tests
from lmrbench.solving.session import WORKSPACE
from lmrbench.tasks.loading import default_suite
from lmrbench.tasks.model import Inputs
from lmrbench.tasks.model import Task as SuiteTask
from lmrbench.tasks.submission import Submission
from lmrbench.tasks.workspace import third_party_imports, workspace_files

Setting = Literal["prompt", "agent"]
TURNS = 50
# About a hundred thousand tokens.
MOST_CHARACTERS = 400_000


@task
def lmr_bench(
    setting: Setting = "prompt",
    inputs: Inputs = "full",
    paper: Form = "digest",
    tasks: str = "",
    samples: int = 1,
    repairs: int = 0,
    agent: str = "react",
    agent_command: str = "",
    turns: int = TURNS,
    sandbox: str = "bubblewrap",
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
        sandbox: Where agents work: `bubblewrap` or `docker`.
        shown: Folders of this machine that the agent's program needs, separated by colons; bubblewrap only.
        max_characters: The longest prompt; the paper is cut first.
        seed: Of the checks' cases; this machine's own if not given.
        suite: The folder of another suite.
        run_folder: Where to write submissions and grades too.
        system: Who answers, as records will name it; the model if not given.
    """
    folder = Path(suite).resolve() if suite else default_suite()
    chosen = suite_tasks(str(folder), tasks).values()
    in_workspace = setting == "agent"
    dataset = [
        _agent_sample(item, inputs, paper) if in_workspace else _prompt_sample(item, inputs, paper, max_characters)
        for item in chosen
    ]
    return Task(
        dataset=MemoryDataset(dataset, name="lmr_bench"),
        solver=solver_agent(agent, agent_command) if in_workspace else answer(str(folder), tasks, repairs),
        scorer=unit_tests(str(folder), tasks, in_workspace, seed, run_folder, system),
        sandbox=_sandbox(sandbox, folder, shown) if in_workspace else None,
        epochs=Epochs(samples, ["mean", f"pass_at_{samples}"] if samples > 1 else ["mean"]),
        turn_limit=turns if in_workspace else None,
        version=1,
    )


@solver
def answer(suite: str, tasks: str, repairs: int) -> Solver:
    """One answer; while it can't be put into the repository, and repairs are left, the model hears why and tries again.

    What a check finds is never said.
    """

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        suite_task = suite_tasks(suite, tasks)[str(state.sample_id)]
        state = await generate(state)
        for _ in range(repairs):
            submission = Submission(system="repair", task=suite_task.id, code=state.output.completion)
            try:
                await anyio.to_thread.run_sync(read_submission, suite_task, submission)
                break
            except SubmissionError as error:
                state.messages.append(ChatMessageUser(content=f"That can't be used: {error}. Answer again, in full."))
                state = await generate(state)
        return state

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


def _sandbox(name: str, suite: Path, shown: str) -> SandboxEnvironmentSpec:
    if name == "docker":
        return SandboxEnvironmentSpec("docker", str(Path(__file__).parent / "compose.yaml"))
    if name != "bubblewrap":
        raise LmrbenchError(f"agents can't work in {name!r}; there are bubblewrap and docker")
    folders = tuple(folder for folder in shown.split(":") if folder)
    secrets = secret_folders(suite)
    refuse_secret(map(Path, folders), secrets)
    return SandboxEnvironmentSpec("bubblewrap", BubblewrapConfig(shown=folders, secrets=tuple(map(str, secrets))))
