"""Prompts: the one message of the prompt setting, and the opening of an agent's conversation.

A prompt that is too long is cut: first the paper, from its end; then the files other than the goal files, the last
first; then the goal files around the targets. Targets and instruction are never cut.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import PurePosixPath

from rank_bm25 import BM25Okapi

from lmrbench.errors import UsageError
from lmrbench.models.settings import Form
from lmrbench.solving.papers import paper_text
from lmrbench.source.syntax import decode
from lmrbench.tasks.model import Inputs, Task
from lmrbench.tasks.workspace import (
    PYTHON,
    also_masked,
    goal_signatures,
    masked_files,
    target_texts,
    third_party_imports,
)

CUT = "\n\n[The rest is left out.]"
_TEXTS = frozenset({".py", ".pyi", ".md", ".rst", ".txt", ".toml", ".yaml", ".yml", ".cfg", ".ini", ".sh"})
# Words of prose and of code: `get_scores` and `GetScores` are both "get" and "scores".
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")


@dataclass(frozen=True)
class Message:
    """A prompt. cut: for each part that did not fit, how many of its characters are there, and how many it has.

    retrieved: the files that a search added.
    """

    text: str
    cut: dict[str, tuple[int, int]]
    retrieved: tuple[str, ...] = ()


def prompt_message(task: Task, inputs: Inputs, paper: Form, limit: int, retrieve: int = 0) -> Message:
    """The one message of the prompt setting, of at most `limit` characters unless targets and instruction are longer.

    Raises UsageError for a forensic task, in which programs must be run. inputs: `full` shows the context files too,
    `paper` nothing of the repository but the signatures. retrieve: with `full`, how many other files to search for.
    """
    if not task.targets:
        raise UsageError(f"{task.id}: forensic tasks are for agents: --setting agent")
    files = masked_files(task)
    targets = ", ".join(f"`{target}`" for target in task.targets)
    opening = (
        f"Implement {targets} as the paper describes it. The paper ({task.paper.title}, {task.paper.venue} "
        f"{task.paper.year}) comes first, then the code around the function, then the instruction.\n"
    )
    goals = {}
    if inputs != "paper":
        goals = {name: decode(files[name])[0] for name in task.goal_files}
    kept = []
    if task.files.results and inputs == "full":
        kept.append(
            "\n## Logged results\n\nWhat `run(seed)` of the complete repository's `experiment.py` returned in double "
            f"precision, by seed.\n\n```json\n{task.files.results.strip()}\n```\n"
        )
    packages = ", ".join(third_party_imports(task)) or "none"
    others = f"{also_masked(task)}\n\n" if inputs != "paper" and task.siblings else ""
    closing = (
        f"\n## Instruction\n\n{task.instruction.strip()}\n\n{others}Packages that may be imported besides Python's "
        f"own: {packages}.{PYTHON} Answer with {targets} alone, complete, in one fenced block of Python, together with "
        "any new helpers and imports that it needs. A method is written inside its class.\n"
    )
    cuttable = {"paper": paper_text(task, paper)}
    found: tuple[str, ...] = ()
    if inputs == "full":
        found = retrieved(task, retrieve)
        cuttable |= {name: decode(files[name])[0] for name in (*task.context, *found)}

    def assembled() -> str:
        paper_part, *context = cuttable.items()
        shown = [f"\n## Paper\n\n{paper_part[1]}\n"]
        shown += [f"\n## Goal file `{name}`\n\n{_fenced(text)}\n" for name, text in goals.items()]
        if not goals:
            signatures = "\n\n".join(_fenced(text) for text in goal_signatures(task).values())
            shown.append(f"\n## The function\n\n{signatures}\n")
        shown += kept
        shown += [f"\n## Context file `{name}`\n\n{_fenced(text)}\n" for name, text in context]
        return "".join((opening, *shown, closing))

    cut = {}
    for name in ("paper", *reversed(list(cuttable)[1:])):
        if (excess := len(assembled()) - limit) > 0:
            text = cuttable[name]
            cuttable[name] = beginning(text, max(0, len(text) - excess))
            cut[name] = (len(cuttable[name]), len(text))
    if goals and (excess := len(assembled()) - limit) > 0:
        whole = goals
        goals = _goals_cut(task, whole, sum(map(len, whole.values())) - excess)
        cut |= {name: (len(goals[name]), len(text)) for name, text in whole.items()}
    return Message(assembled(), cut, found)


def _goals_cut(task: Task, texts: Mapping[str, str], room: int) -> dict[str, str]:
    """The goal files around their targets, each with its share of the room."""
    total = sum(map(len, texts.values()))
    places: dict[str, list[tuple[int, int]]] = {name: [] for name in texts}
    for target, (first, text) in target_texts(task, masked_files(task)).items():
        places[target.file].append((first, first + text.count("\n")))
    return {name: around(text, places[name], room * len(text) // total) for name, text in texts.items()}


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
        f"{PYTHON}"
    )


def _fenced(code: str) -> str:
    return f"```python\n{code.rstrip()}\n```"


def beginning(text: str, room: int) -> str:
    """Return the beginning of a text, up to the end of a paragraph if one ends in the second half of it."""
    head = text[: max(0, room - len(CUT))]
    end = head.rfind("\n\n")
    return (head[:end] if end > len(head) // 2 else head) + CUT if head else ""


def around(text: str, places: Sequence[tuple[int, int]], room: int) -> str:
    """Return the lines of places in a Python file, and as many around each as there is room for.

    A comment says how many lines are missing where.

    Args:
        text: of the file.
        places: first and last line of each, counted from 1. They are kept even if there is no room for them.
        room: characters at most.
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
    """Return the paths of the files that match instruction and summary best by BM25, the best first.

    Args:
        task: whose goal files, and files that it shows anyway, are left out.
        count: files at most; those that share no word with the task are left out.
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
