"""What is a model told? One message in the prompt setting, and the opening of an agent's conversation.

What is too long is cut by one rule: the paper first, from its end, then the context files, the last first. The goal
file and the instruction are never cut.
"""

from __future__ import annotations

from dataclasses import dataclass

from lmrbench.errors import UsageError
from lmrbench.pysource.source import decode
from lmrbench.solving.papers import paper_text
from lmrbench.solving.settings import Form
from lmrbench.tasks.model import Inputs, Task
from lmrbench.tasks.workspace import also_masked, goal_signatures, masked_files, third_party_imports

CUT = "\n\n[The rest is left out.]"


@dataclass(frozen=True)
class Message:
    """A prompt. cut: for each part that did not fit, how many of its characters are there, and how many it has."""

    text: str
    cut: dict[str, tuple[int, int]]


def prompt_message(task: Task, inputs: Inputs, paper: Form, limit: int) -> Message:
    """The one message of the prompt setting, of at most `limit` characters unless goal file and instruction are longer.

    Raises UsageError for a forensic task, in which programs must be run. inputs: `full` shows the context files too,
    `paper` nothing of the repository but the signatures.
    """
    if not task.targets:
        raise UsageError(f"{task.id}: forensic tasks are for agents: --setting agent")
    files = masked_files(task)
    targets = ", ".join(f"`{target}`" for target in task.targets)
    opening = (
        f"Implement {targets} as the paper describes it. The paper ({task.paper.title}, {task.paper.venue} "
        f"{task.paper.year}) comes first, then the code around the function, then the instruction.\n"
    )
    goals = {"": "\n\n".join(_fenced(text) for text in goal_signatures(task).values())}
    if inputs != "paper":
        goals = {name: _fenced(decode(files[name])[0]) for name in task.goal_files}
    kept = [f"\n## {f'Goal file `{name}`' if name else 'The function'}\n\n{text}\n" for name, text in goals.items()]
    if task.files.results and inputs == "full":
        kept.append(
            "\n## Logged results\n\nWhat `run(seed)` of the complete repository's `experiment.py` returned in double "
            f"precision, by seed.\n\n```json\n{task.files.results.strip()}\n```\n"
        )
    packages = ", ".join(third_party_imports(task)) or "none"
    others = f"{also_masked(task)}\n\n" if inputs != "paper" and task.siblings else ""
    closing = (
        f"\n## Instruction\n\n{task.instruction.strip()}\n\n{others}Packages that may be imported besides Python's "
        f"own: {packages}. Answer with {targets} alone, complete, in one fenced block of Python, together with any new "
        "helpers and imports that it needs. A method is written inside its class.\n"
    )
    cuttable = {"paper": paper_text(task, paper)}
    if inputs == "full":
        cuttable |= {name: decode(files[name])[0] for name in task.context}

    def assembled() -> str:
        paper_part, *context = cuttable.items()
        shown = [f"\n## Paper\n\n{paper_part[1]}\n", *kept]
        shown += [f"\n## Context file `{name}`\n\n{_fenced(text)}\n" for name, text in context]
        return "".join((opening, *shown, closing))

    cut = {}
    for name in ("paper", *reversed(list(cuttable)[1:])):
        if (excess := len(assembled()) - limit) > 0:
            text = cuttable[name]
            cuttable[name] = _shortened(text, max(0, len(text) - excess))
            cut[name] = (len(cuttable[name]), len(text))
    return Message(assembled(), cut)


def _shortened(text: str, room: int) -> str:
    """The beginning of a text, up to the end of a paragraph where one ends in the last half of it."""
    head = text[: max(0, room - len(CUT))]
    end = head.rfind("\n\n")
    return (head[:end] if end > len(head) // 2 else head) + CUT if head else ""


def agent_message(task: Task, workspace: str) -> str:
    """What an agent is told of its workspace; the rest stands in files there."""
    targets = ", ".join(f"`{target}`" for target in task.targets)
    asked = (
        f"`repo/`, where there is one, is a repository in which {targets} is missing. Implement it where it stands, as "
        "the instruction says."
        if task.targets
        else "`repo/` is the paper's repository. Change it as the instruction says."
    )
    return (
        f"You work in `{workspace}`. `instruction.md` says what to do, `paper.md` is about the paper, and {asked} What "
        "counts in the end is the state of the goal file in the workspace; there is no network."
    )


def _fenced(code: str) -> str:
    return f"```python\n{code.rstrip()}\n```"
