"""Options and output that several commands share."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lmrbench.sandbox.protocol import DEFAULT_SANDBOX, LOCAL, Executor
from lmrbench.tasks.loading import suite_folder, suite_folders
from lmrbench.tasks.model import Tier
from lmrbench.text import counted

if TYPE_CHECKING:
    from lmrbench.tasks.model import Task
    from lmrbench.tasks.tiers.forensic import Drawn

SuiteOption = Annotated[
    Path | None,
    typer.Option(
        "--suite",
        metavar="SUITE",
        help="core (the default), real (tasks on published packages, which `lmrbench fetch` brings), all (both), or "
        "the folder of a suite of your own.",
    ),
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
        help="Where answers are graded: bubblewrap, docker, process (which hides nothing; see docs/security.md), or a "
        "back end of another package.",
    ),
]
WorkersOption = Annotated[
    int | None, typer.Option("--workers", min=1, help="Warm workers side by side; by default one per core.")
]
ExecutorOption = Annotated[
    str,
    typer.Option(
        "--executor", metavar="local|ray", help="Run answers on this machine, or on the nodes of a Ray cluster."
    ),
]
AddressOption = Annotated[
    str | None,
    typer.Option(
        "--address",
        metavar="HOST:PORT",
        help="With --executor ray: the cluster; by default RAY_ADDRESS, or a cluster of this machine alone.",
    ),
]
LabelFilesOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--labels", metavar="FILE", help="What people say of the answers, by `lmrbench labels`. May be repeated."
    ),
]
# Where run folders are made by default.
RUNS = Path("runs")
RUNS_HELP = "Run folders of `lmrbench run` or `grade`, or folders that hold some."
RunsArgument = Annotated[list[Path], typer.Argument(metavar="RUN...", help=RUNS_HELP)]
TierOption = Annotated[
    Tier,
    typer.Option("--tier", help="Which tier's tasks: function, the headline; method; forensic; twin. See concepts."),
]
FreshOption = Annotated[
    int | None,
    typer.Option(
        "--fresh",
        metavar="SEED",
        min=0,
        max=2**31 - 1,
        help="With --tier forensic: draw tasks of 1, 3, 5 and 8 deviations from this seed, not the published ones.",
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON on standard output instead of a table.")]


def executor_of(kind: str, address: str | None) -> Executor:
    """What --executor and --address ask for. Raises UsageError for what doesn't go together."""
    from lmrbench.errors import UsageError

    if kind == "ray":
        return Executor("ray", address)
    if kind != "local":
        raise UsageError(f"--executor {kind}: there are local and ray")
    if address is not None:
        raise UsageError("--address is for --executor ray")
    return LOCAL


def load_tasks(
    suite: Path | None, patterns: list[str] | None, tier: Tier = "function", fresh: int | None = None
) -> tuple[Task, ...]:
    """The tasks of a suite and a tier that the patterns name."""
    return load_all_and_some(suite, patterns, tier, fresh)[1]


def load_task(suite: Path | None, name: str) -> Task:
    """The one task of that name. Raises TaskError where it names several."""
    from lmrbench.errors import TaskError

    found = load_tasks(suite, [name])
    if len(found) != 1:
        raise TaskError(f"{name!r} names {counted(len(found), 'task')}: {', '.join(task.id for task in found)}")
    return found[0]


def load_all_and_some(
    suite: Path | None,
    patterns: Iterable[str] | None,
    tier: Tier = "function",
    fresh: int | None = None,
    sandbox: str = DEFAULT_SANDBOX,
) -> tuple[tuple[Task, ...], tuple[Task, ...]]:
    """All tasks of a suite, and those of a tier that the patterns name; an id names a task of any tier.

    fresh: draw the forensic tasks anew from this seed. sandbox: where the forensic tasks that are named are run, to see
    what they log; these are among all tasks too.
    """
    from lmrbench.errors import UsageError
    from lmrbench.tasks.loading import load_suite
    from lmrbench.tasks.selection import select_with_draws

    if fresh is not None and tier != "forensic":
        raise UsageError("--fresh is for --tier forensic")
    tasks = load_suite(suite_folder(suite))
    chosen, draws = select_with_draws(tasks, patterns or (), tier, fresh)
    made = forged_tasks(draws, suite_folder(suite), sandbox)
    return (*tasks, *made), (*chosen, *made)


def with_checks(tasks: Sequence[Task]) -> tuple[Task, ...]:
    """The tasks that can be graded; one line on standard error names the others. Raises TaskError where there is none.

    An imported task may have no check.
    """
    from lmrbench.cli.terminal import warn
    from lmrbench.errors import TaskError

    kept = tuple(task for task in tasks if task.files.check)
    if without := [task.id for task in tasks if not task.files.check]:
        verb = "has no check, so that it" if len(without) == 1 else "have no check, so that they"
        said = f"{', '.join(without)}: {verb} can't be graded"
        if not kept:
            raise TaskError(said)
        warn(f"{said}; left out")
    return kept


def forged_tasks(draws: Sequence[Drawn], suite: Path, sandbox: str) -> tuple[Task, ...]:
    """The forensic tasks of these draws, made with a progress bar."""
    if not draws:
        return ()
    from lmrbench.cli.terminal import progress
    from lmrbench.grading.forging import forged
    from lmrbench.sandbox.registry import open_pool

    with open_pool(sandbox, suite_folders(suite)) as pool, progress() as bars:
        every, one = bars.add_task("forensic tasks", total=len(draws)), bars.add_task("changed programs", total=None)

        def advance(stage: str, done: int, total: int) -> None:
            bars.update(one, description=stage, completed=done, total=total)

        made = []
        for task, count, seed in draws:
            made.append(forged(task, count, seed, pool, advance))
            bars.advance(every)
    return tuple(made)


def run_folders(paths: Iterable[Path]) -> list[Path]:
    """The run folders that paths name: each itself, or all below it; each once, however it is named.

    A folder without any run is given back as it is. Raises UsageError for a path that is no folder.
    """
    from lmrbench.errors import UsageError

    found: dict[tuple[int, int], Path] = {}
    for path in paths:
        if not path.is_dir():
            raise UsageError(f"{path}: there is no such run folder")
        for folder in _runs_below(path) or [path]:
            status = folder.stat()
            found.setdefault((status.st_dev, status.st_ino), folder)
    return list(found.values())


def _runs_below(folder: Path) -> list[Path]:
    if _is_run(folder):
        return [folder]
    below = sorted(item for item in folder.iterdir() if item.is_dir() and item.name[0] != ".")
    # A link may lead to a run, and not back to a folder above.
    return [run for item in below if _is_run(item) or not item.is_symlink() for run in _runs_below(item)]


def _is_run(folder: Path) -> bool:
    from lmrbench.runs.folder import FACTS, GRADES

    return (folder / FACTS).exists() or (folder / GRADES).exists()


def run_name(text: str) -> str:
    """The name of a run folder, made of the name of a system or file: short, and one that no shell takes apart."""
    return re.sub(r"[^\w.-]+", "-", text)[:60].strip("-.") or "run"


def print_json(value: object) -> None:
    """Print a value as indented JSON on standard output."""
    text = json.dumps(value, indent=2, ensure_ascii=False)
    if not text.isascii() and (sys.stdout.encoding or "").lower().replace("-", "") != "utf8":
        text = json.dumps(value, indent=2)
    # JSON escapes some control characters by itself; all others are escaped as it would.
    print("".join(letter if letter.isprintable() or letter == "\n" else json.dumps(letter)[1:-1] for letter in text))
