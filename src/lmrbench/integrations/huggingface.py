"""Export tasks as a dataset: a JSON Lines file, or a folder for `datasets.load_dataset` and the Hugging Face hub.

Each task is one row. It contains everything that a solver is given, but not the answer. Answers are written only on
request, to a separate file.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Literal

import yaml

from lmrbench.errors import UsageError
from lmrbench.files import write_whole
from lmrbench.integrations.workspace import ABOUT_TIERS
from lmrbench.records import Record
from lmrbench.source.syntax import decode
from lmrbench.tasks.digests import grading_digest
from lmrbench.tasks.loading import suite_name
from lmrbench.tasks.model import Inputs, Task
from lmrbench.tasks.sources.origin import Tree
from lmrbench.tasks.workspace import answered_files, instruction, masked_files, third_party_imports

TASKS, GOLDENS = "data/tasks.jsonl", "data/goldens.jsonl"


class File(Record):
    """A file of a task's repository. Its role is `goal` if it contains a function to write, else `context`."""

    path: str
    role: Literal["goal", "context"]
    text: str


class Row(Record):
    """One task.

    Attributes:
        other_tiers: the ids of the same paper's tasks in other tiers (kinds of tasks). The files may contain answers to
            these tasks.
        targets: the functions to write.
        digest: a digest of everything that the result of grading depends on. It identifies the version of the task.
    """

    id: str
    suite: str
    tier: str
    other_tiers: tuple[str, ...]
    category: str
    title: str
    year: int
    venue: str
    url: str
    code: str
    targets: tuple[str, ...]
    imports: tuple[str, ...]
    instruction: str
    summary: str
    files: tuple[File, ...]
    digest: str


class GoldenRow(Record):
    """The answer to one task: the files of the reference implementation that contain the functions to write.

    The functions of other tasks are masked in these files.
    """

    id: str
    files: tuple[File, ...]


def row_of(task: Task, inputs: Inputs = "full") -> Row:
    """Return the row of a task.

    Args:
        task: a task of any tier.
        inputs: the files in the row: goal files and context (`full`), only goal files (`paper+file`), or no files
            (`paper`).
    """
    masked = masked_files(task)
    context = [name for name in task.context if name not in task.goal_files]
    shown = {"full": (*task.goal_files, *context), "paper+file": task.goal_files, "paper": ()}[inputs]
    return Row(
        id=task.id,
        suite=suite_name([task]),
        tier=task.tier,
        other_tiers=task.other_tiers,
        category=task.category,
        title=task.paper.title,
        year=task.paper.year,
        venue=task.paper.venue,
        url=str(task.paper.url),
        code=str(task.paper.code or ""),
        targets=tuple(map(str, task.targets)),
        imports=third_party_imports(task),
        instruction=instruction(task, inputs),
        summary=task.files.summary,
        files=tuple(_file(task, name, masked[name]) for name in shown),
        digest=grading_digest(task),
    )


def golden_row_of(task: Task) -> GoldenRow:
    """Return the row with the answer to a task."""
    answered = answered_files(task)
    return GoldenRow(id=task.id, files=tuple(_file(task, name, answered[name]) for name in task.goal_files))


def _file(task: Task, name: str, data: bytes) -> File:
    return File(path=name, role="goal" if name in task.goal_files else "context", text=decode(data)[0])


def write(tasks: Sequence[Task], to: Path, inputs: Inputs, goldens: bool = False) -> Iterator[Path]:
    """Write a dataset, and yield its folder. See `write_dataset`."""
    write_dataset(tasks, to, inputs, goldens)
    yield to


def write_rows(tasks: Sequence[Task], to: Path, inputs: Inputs) -> Iterator[Path]:
    """Write a JSON Lines file, and yield its path. See `write_jsonl`."""
    write_jsonl(tasks, to, inputs)
    yield to


def write_jsonl(tasks: Iterable[Task], file: Path, inputs: Inputs = "full") -> None:
    """Write a JSON Lines file with a row for each task. Raises UsageError if the file exists."""
    if file.exists():
        raise UsageError(f"{file} exists already; name a new file")
    file.parent.mkdir(parents=True, exist_ok=True)
    write_whole(file, _lines(row_of(task, inputs) for task in tasks))


def write_dataset(tasks: Sequence[Task], folder: Path, inputs: Inputs = "full", goldens: bool = False) -> None:
    """Write a folder for Hugging Face's `datasets`: a dataset card and the rows.

    Args:
        tasks: the tasks, one row each.
        folder: a new or empty folder.
        inputs: see `row_of`.
        goldens: whether to add the answers as a separate configuration. The card then contains a request to keep them
            secret, which the hub shows to users of a gated dataset.

    Raises:
        UsageError: the folder is not empty, or a task uses a published package, whose code can't be redistributed.
    """
    if theirs := [task for task in tasks if isinstance(task.files.repository, Tree)]:
        raise UsageError(
            f"{theirs[0].id} uses a published package, whose code can't be redistributed; leave out this task"
        )
    if folder.exists() and any(folder.iterdir()):
        raise UsageError(f"{folder} is not empty; a dataset needs a folder of its own")
    (folder / "data").mkdir(parents=True, exist_ok=True)
    write_whole(folder / TASKS, _lines(row_of(task, inputs) for task in tasks))
    if goldens:
        write_whole(folder / GOLDENS, _lines(map(golden_row_of, tasks)))
    write_whole(folder / "README.md", _card(tasks, goldens).encode())


def _lines(rows: Iterable[Record]) -> bytes:
    return "".join(row.model_dump_json() + "\n" for row in rows).encode()


_GATE = "This dataset contains answers. Keep them out of training data and away from web crawlers."
_TEXT = """
# {name}

Tasks of lmrbench: can language models and agents reproduce the key functions of papers on language models? Each row is
a task: a summary of the paper, an instruction, and the goal files, in which the bodies of the functions to write are
removed. Answers are graded by `lmrbench grade`, which runs them in a sandbox and compares their results with those of
the reference. The rows do not contain the checks.

| category | tasks |
|---|---|
{counts}

`files` contains the goal files and the files shown as context, and `targets` names the functions to write.
`digest` identifies the version of the task.

{tiers}
{more}"""
_ABOUT_GOLDENS = """
The configuration `goldens` contains the answers. If you publish this folder, make it a gated dataset.
"""


def _card(tasks: Sequence[Task], goldens: bool) -> str:
    name = suite_name(tasks) or "tasks"
    files = {"tasks": TASKS, "goldens": GOLDENS} if goldens else {"tasks": TASKS}
    head = {
        "pretty_name": f"lmrbench, {name}",
        "license": "mit",
        "language": "en",
        "task_categories": ["text-generation"],
        "tags": ["code", "benchmark"],
        "configs": [
            {"config_name": title, "default": title == "tasks", "data_files": [{"split": "test", "path": file}]}
            for title, file in files.items()
        ],
        **({"extra_gated_prompt": _GATE} if goldens else {}),
    }
    counts = Counter(task.category for task in tasks)
    lines = "\n".join(f"| {category} | {count} |" for category, count in sorted(counts.items()))
    tiers = ABOUT_TIERS.format(fields="`other_tiers`")
    text = _TEXT.format(name=name, counts=lines, tiers=tiers, more=_ABOUT_GOLDENS if goldens else "")
    return f"---\n{yaml.safe_dump(head, sort_keys=False)}---\n{text}"
