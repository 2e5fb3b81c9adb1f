"""Write prompts: the only message to a model in the prompt setting, and the first message to an agent.

The targets are the functions that a task asks for, the goal files contain them, and the context files are other files
that a task shows. A prompt that is too long is cut in this order: the end of the paper, the context files (the last one
first), and the goal files, of which the lines nearest to the targets are kept. The targets and the instruction are
never cut.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import PurePosixPath
from typing import NamedTuple

from rank_bm25 import BM25Okapi

from lmrbench.errors import UsageError
from lmrbench.models.settings import PromptForm
from lmrbench.solving.papers import paper_text
from lmrbench.source.syntax import decode
from lmrbench.tasks.model import Form, Inputs, Task
from lmrbench.tasks.workspace import (
    PAPER_FILES,
    PYTHON,
    also_masked,
    goal_signatures,
    masked_files,
    rules,
    target_texts,
)

CUT = "\n\n[The rest is left out.]"
_TEXTS = frozenset({".py", ".pyi", ".md", ".rst", ".txt", ".toml", ".yaml", ".yml", ".cfg", ".ini", ".sh"})
# A word in prose or part of a name in code: `get_scores` and `GetScores` both consist of "get" and "scores".
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")


@dataclass(frozen=True)
class Message:
    """A prompt.

    Attributes:
        text: the message.
        cut: for each part that was cut, its length in characters after cutting and before.
        retrieved: the files that were added because they match the task (see the function `retrieved`).
    """

    text: str
    cut: dict[str, tuple[int, int]]
    retrieved: tuple[str, ...] = ()


def prompt_message(
    task: Task, inputs: Inputs, paper: Form, limit: int, retrieve: int = 0, form: PromptForm = "lmrbench"
) -> Message:
    """Return the only message that a model gets in the prompt setting.

    Args:
        task: the task to solve.
        inputs: `full` shows the goal files and the context files, `paper+file` the goal files, and `paper` only the
            signatures of the targets.
        paper: the form in which the paper is shown.
        limit: maximum number of characters. It may be exceeded by the parts that are never cut.
        retrieve: with inputs `full`, the maximum number of further files of the repository to show; see `retrieved`.
        form: the form of the prompt: that of lmrbench, or that of the LMR-BENCH paper (appendix D).

    Raises:
        UsageError: the task is forensic. Only an agent can solve it, because it must run programs.
    """
    if not task.targets:
        raise UsageError(f"{task.id}: forensic tasks are for agents; use --setting agent")
    files = masked_files(task)
    goals = {} if inputs == "paper" else {name: decode(files[name])[0] for name in task.goal_files}
    fixed = _Fixed(_opening(task, form), _results(task) if inputs == "full" else "", _closing(task, inputs, form))
    cuttable = {"paper": paper_text(task, paper)}
    found: tuple[str, ...] = ()
    if inputs == "full":
        found = retrieved(task, retrieve)
        cuttable |= {name: decode(files[name])[0] for name in (*task.context, *found)}
    cut = {}
    for name in ("paper", *reversed(list(cuttable)[1:])):
        if (excess := len(_assembled(task, fixed, goals, cuttable, form)) - limit) > 0:
            text = cuttable[name]
            cuttable[name] = beginning(text, max(0, len(text) - excess))
            cut[name] = (len(cuttable[name]), len(text))
    if goals and (excess := len(_assembled(task, fixed, goals, cuttable, form)) - limit) > 0:
        whole = goals
        goals = _goals_cut(task, whole, sum(map(len, whole.values())) - excess)
        cut |= {name: (len(goals[name]), len(text)) for name, text in whole.items()}
    return Message(_assembled(task, fixed, goals, cuttable, form), cut, found)


class _Fixed(NamedTuple):
    """The parts of a prompt that are never cut."""

    opening: str
    results: str
    closing: str


def _opening(task: Task, form: PromptForm) -> str:
    targets = ", ".join(f"`{target}`" for target in task.targets)
    if form == "paper":
        return (
            f"You write code for research. Whole files of a repository come first, then its paper ({task.paper.title}) "
            f"and the instruction. Implement {targets} and nothing else. Answer with the definition alone, from `def` "
            "to the end of its body: no explanation, and no fence around it.\n"
        )
    return (
        f"Implement {targets} as described in the paper. The paper ({task.paper.title}, {task.paper.venue} "
        f"{task.paper.year}) comes first, then the code around the function, then the instruction.\n"
    )


def _results(task: Task) -> str:
    """Return the section on the logged results of the paper's experiment, or "" if the task has none."""
    if not task.files.results:
        return ""
    return (
        "\n## Logged results\n\nThe results of `run(seed)` in `experiment.py` of the complete repository, in double "
        f"precision, by seed.\n\n```json\n{task.files.results.strip()}\n```\n"
    )


def _closing(task: Task, inputs: Inputs, form: PromptForm) -> str:
    targets = ", ".join(f"`{target}`" for target in task.targets)
    others = f"\n\n{also_masked(task)}" if inputs != "paper" and task.siblings else ""
    told = "".join(f"\n- {sentence}" for sentence in task.only_logs)
    logs = f"\n\n## Facts that only the logged results reveal\n{told}" if told else ""
    asked = f"\n## Instruction\n\n{task.instruction.strip()}{logs}{others}\n\n{rules(task)}\n"
    if form == "paper":
        return asked
    several = (
        " The targets in this block, and the code that they use, are copied to their goal files."
        if len(task.goal_files) > 1
        else ""
    )
    return (
        f"{asked}\n## Form of the answer\n\n"
        f"Answer with one fenced block of Python. It must contain {targets}, complete, and any new helpers and imports "
        f"that are needed, but nothing else. Write a method inside its class.{several}\n"
    )


def _assembled(
    task: Task, fixed: _Fixed, goals: Mapping[str, str], cuttable: Mapping[str, str], form: PromptForm
) -> str:
    """Return the whole message. The first item of `cuttable` is the paper, and the others are context files."""
    (_, text), *others = cuttable.items()
    paper = f"\n## Paper\n\n{text}\n"
    code = [f"\n## Goal file `{name}`\n\n{_fenced(text)}\n" for name, text in goals.items()]
    if not goals:
        signatures = "\n\n".join(_fenced(text) for text in goal_signatures(task).values())
        code = [f"\n## The function\n\n{signatures}\n"]
    context = [f"\n## Context file `{name}`\n\n{_fenced(text)}\n" for name, text in others]
    if form == "paper":
        return "".join((fixed.opening, *code, paper, fixed.results, fixed.closing, *context))
    return "".join((fixed.opening, paper, *code, fixed.results, *context, fixed.closing))


def _goals_cut(task: Task, texts: Mapping[str, str], room: int) -> dict[str, str]:
    """Cut each goal file to its share of `room` characters, keeping the lines nearest to its targets."""
    total = sum(map(len, texts.values()))
    places: dict[str, list[tuple[int, int]]] = {name: [] for name in texts}
    for target, (first, text) in target_texts(task, masked_files(task)).items():
        places[target.file].append((first, first + text.count("\n")))
    return {name: around(text, places[name], room * len(text) // total) for name, text in texts.items()}


def agent_message(tasks: Sequence[Task], workspace: str, paper: Form = "summary") -> str:
    """Return the first message to an agent, which refers to files in the workspace.

    Args:
        tasks: the tasks to solve in the session, all of one paper.
        workspace: the path of the workspace inside the sandbox.
        paper: the form of the paper in the workspace.
    """
    targets = ", ".join(f"`{target}`" for task in tasks for target in task.targets)
    asked = (
        f"`repo/`, if present, is a repository in which the code of {targets} is missing. Write this code there, as "
        "the instruction says."
        if targets
        else "`repo/` is the paper's repository. Change it as the instruction says."
    )
    return (
        f"You work in `{workspace}`. `instruction.md` says what to do, {PAPER_FILES[paper]} the paper, and {asked} "
        "Only the final state of each goal file in the workspace counts. There is no network."
        f"{PYTHON}"
    )


def _fenced(code: str) -> str:
    return f"```python\n{code.rstrip()}\n```"


def beginning(text: str, room: int) -> str:
    """Return the beginning of a text.

    It is cut after a paragraph if this keeps more than half of the characters that fit.

    Args:
        text: the text to cut.
        room: maximum number of characters, including the note about the cut.
    """
    head = text[: max(0, room - len(CUT))]
    end = head.rfind("\n\n")
    return (head[:end] if end > len(head) // 2 else head) + CUT if head else ""


def around(text: str, places: Sequence[tuple[int, int]], room: int) -> str:
    """Return the given lines of a Python file, with as many of the lines around them as fit.

    Each gap becomes a comment with the number of lines that are left out.

    Args:
        text: the file's content.
        places: the first and last line of each range, counted from 1. These lines are kept even if they exceed `room`.
        room: maximum number of characters.
    """
    lines = text.splitlines(keepends=True)
    kept = {number for first, last in places for number in range(first, last + 1)}
    left = room - sum(len(lines[number - 1]) for number in kept)
    for distance in range(1, len(lines)):
        near = {number for first, last in places for number in (first - distance, last + distance)} - kept
        for number in sorted(number for number in near if 1 <= number <= len(lines)):
            left -= len(lines[number - 1])
            if left < 0:
                break
            kept.add(number)
        if left < 0:
            break
    parts = []
    for is_kept, group in groupby(range(1, len(lines) + 1), key=kept.__contains__):
        numbers = list(group)
        parts += [lines[number - 1] for number in numbers] if is_kept else [f"# [{len(numbers)} lines are left out.]\n"]
    return "".join(parts)


def retrieved(task: Task, count: int) -> tuple[str, ...]:
    """Return the files of the repository that match the task's instruction and summary best, ranked by BM25.

    Args:
        task: the task; its goal files and context files are left out.
        count: maximum number of files. Files that share no word with the task are left out.
    """
    files = masked_files(task)
    shown = {*task.goal_files, *task.context}
    paths = [path for path in files if path not in shown and PurePosixPath(path).suffix in _TEXTS]
    texts = [_words(f"{path}\n{files[path].decode('utf-8', 'replace')}") for path in paths]
    if not count or not any(texts):
        return ()
    scores = BM25Okapi(texts).get_scores(_words(f"{task.instruction}\n{task.files.summary}"))
    ranked = sorted(zip(-scores, paths, strict=True))
    return tuple(path for score, path in ranked[:count] if score < 0)


def _words(text: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(text)]
