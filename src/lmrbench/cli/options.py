"""Options and output that several commands share."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from lmrbench.tasks.model import Task

SuiteOption = Annotated[
    Path | None,
    typer.Option("--suite", metavar="DIR", help="A suite folder, instead of the one that comes with lmrbench."),
]
PATTERN_HELP = "Task ids (dpo/preference_loss), papers (dpo), categories or globs; all tasks without one."
TasksOption = Annotated[
    list[str] | None, typer.Option("--task", "-t", metavar="TASK", help=f"{PATTERN_HELP} May be repeated.")
]
SeedOption = Annotated[
    int | None,
    typer.Option("--seed", min=0, max=2**31 - 1, help="Draw the cases from this seed, instead of this machine's own."),
]
SandboxOption = Annotated[
    str,
    typer.Option(
        "--sandbox",
        metavar="NAME",
        help="Where answers are graded: bubblewrap, process (which hides nothing; see docs/security.md), or a back end "
        "of another package.",
    ),
]
WorkersOption = Annotated[
    int | None, typer.Option("--workers", min=1, help="Warm workers side by side; by default one per core.")
]
LabelFilesOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--labels", metavar="FILE", help="What people say of the answers, by `lmrbench labels`. May be repeated."
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON on standard output instead of a table.")]


def suite_folder(suite: Path | None) -> Path:
    """The folder that `--suite` names, or the suite that comes with lmrbench."""
    from lmrbench.tasks.loading import default_suite

    return suite or default_suite()


def load_tasks(suite: Path | None, patterns: list[str] | None) -> tuple[Task, ...]:
    """The tasks of a suite that the patterns name."""
    return load_all_and_some(suite, patterns)[1]


def load_task(suite: Path | None, name: str) -> Task:
    """The one task of that name. Raises TaskError where it names several."""
    from lmrbench.errors import TaskError

    found = load_tasks(suite, [name])
    if len(found) != 1:
        raise TaskError(f"{name!r} names {len(found)} tasks: {', '.join(task.id for task in found)}")
    return found[0]


def load_all_and_some(suite: Path | None, patterns: list[str] | None) -> tuple[tuple[Task, ...], tuple[Task, ...]]:
    """All tasks of a suite, and those of them that the patterns name."""
    from lmrbench.tasks.loading import load_suite, select

    tasks = load_suite(suite_folder(suite))
    return tasks, select(tasks, patterns or ())


def print_json(value: object) -> None:
    """Print a value as indented JSON on standard output."""
    text = json.dumps(value, indent=2, ensure_ascii=False)
    # JSON escapes some control characters by itself; all others are escaped as it would.
    print("".join(letter if letter.isprintable() or letter == "\n" else json.dumps(letter)[1:-1] for letter in text))
