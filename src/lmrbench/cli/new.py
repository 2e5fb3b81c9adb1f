"""`lmrbench new`: from a repository and a function to a task that grades."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from lmrbench.authoring.new.recording import Call
    from lmrbench.tasks.model import Target
    from lmrbench.tasks.sources.origin import Tree


def new(
    places: Annotated[
        list[str],
        typer.Argument(
            metavar="[REPOSITORY] TARGET",
            help="A folder with Python files, but not with --source; and the function to mask: "
            "simclr.py::SimCLR.info_nce_loss.",
        ),
    ],
    to: Annotated[Path, typer.Option("--to", metavar="DIR", help="The suite folder; the task goes to DIR/SLUG.")],
    slug: Annotated[str, typer.Option("--slug", metavar="SLUG", help="The paper's short name: simclr.")],
    source: Annotated[
        str | None,
        typer.Option(
            metavar="SOURCE",
            help="Published code in the place of REPOSITORY: NAME==VERSION of a package, ADDRESS@COMMIT of a Git "
            "repository, or the address of a .tar.gz or .zip.",
        ),
    ] = None,
    command: Annotated[
        str, typer.Option("--command", help="Run in the repository to see how the target is called.")
    ] = "python experiment.py",
    beside: Annotated[
        list[Path] | None,
        typer.Option(
            "--with",
            metavar="FILE",
            help="A script or a folder that is laid into the repository while the command runs, and does not stay. "
            "May be given several times.",
        ),
    ] = None,
    paper: Annotated[
        Path | None,
        typer.Option("--paper", metavar="FILE", help="The paper, as PDF or text, for the summary's outline."),
    ] = None,
    category: Annotated[
        str, typer.Option(help="One of the categories in suite.toml; any name where there is none.")
    ] = "training_objectives",
) -> None:
    """Make a task from a repository: copy it, watch the target at work, propose a check, audit it, list what is left.

    With --source nothing is copied: task.toml pins the published code by its digest, and it is fetched to the cache.

    Whatever is there already is kept and said to be so: run the same command again after a change, or after Ctrl-C.
    """
    from rich.console import Console

    from lmrbench.authoring.new import drafting
    from lmrbench.authoring.new.proposing import propose
    from lmrbench.authoring.new.recorder import MOST_CALLS
    from lmrbench.authoring.new.recording import record
    from lmrbench.cli.audit import QUICK_SEEDS, audit_with_progress
    from lmrbench.errors import TaskError, UsageError
    from lmrbench.tasks.loading import load_facts, load_paper
    from lmrbench.tasks.model import Target
    from lmrbench.tasks.sources.origin import Tree
    from lmrbench.tasks.workspace import goal_signatures

    console = Console(highlight=False, soft_wrap=True)
    if len(places) != (1 if source else 2):
        expected = "TARGET alone beside --source" if source else "REPOSITORY and TARGET, or --source and TARGET"
        raise UsageError(f"expected {expected}; got {' '.join(places)}")
    try:
        target = Target.parse(places[-1])
    except ValueError as error:
        raise TaskError(str(error)) from error
    for option, given in (("slug", slug), ("category", category)):
        if not re.fullmatch(r"[a-z0-9][a-z0-9_]*", given):
            raise UsageError(f"--{option} {given}: small letters, digits and underscores are allowed")
    text = drafting.read_paper(paper) if paper is not None else ""
    folder = to / slug
    name = re.sub(r"\W", "_", target.qualname.rpartition(".")[2]).strip("_").lower()
    table, check = folder / "task.toml", folder / "checks" / f"{name}.py"

    files = _fetched(console, folder, source) if source else _copied(console, folder, Path(places[0]), target)
    _require(files, target)
    calls: tuple[Call, ...] = ()
    if not check.exists() or (isinstance(files, Tree) and not table.exists()):
        with console.status(f"{command} runs, and {target} is watched"):
            calls = record({**files, **drafting.files_beside(beside or [], files)}, target, command)
        most = ", the most that are: later ones are not looked at" if len(calls) == MOST_CALLS else ""
        console.print(f"{command}: {len(calls)} calls of the target recorded{most}")
    decisions: list[str] = []
    if check.exists():
        console.print(f"{check}: kept as it is")
    else:
        proposal = propose(target, files, calls, command)
        _say_written(console, check, drafting.write_new(check, proposal.check))
        decisions += proposal.decisions
    pinned = drafting.described(files, calls) if isinstance(files, Tree) and calls else None
    for file, content in (
        (table, drafting.draft_table(slug, name, category, target, pinned)),
        (folder / "paper.md", drafting.draft_summary(text)),
    ):
        _say_written(console, file, drafting.write_new(file, content))
    task = next((item for item in load_paper(folder, load_facts(to)) if item.name == name), None)
    if task is None:
        raise TaskError(f"{table}: it holds no task named {name!r}; add one, or name another target")
    console.print("\nWhat masking leaves of the target:\n")
    console.print(goal_signatures(task)[target], markup=False)
    try:
        shortfalls = audit_with_progress([task], QUICK_SEEDS, None, to, write=False)[task.id].shortfalls
    except TaskError as error:
        shortfalls = (str(error),)
    console.print(
        f"\nWhat is left for a person to decide (`lmrbench audit {slug} --suite {to} --quick` shows what survives):"
    )
    for draft in (table, folder / "paper.md"):
        if "TODO" in draft.read_text("utf-8"):
            decisions.append(f"{draft}: fill in what is marked TODO")
    for item in (*decisions, *shortfalls):
        console.print(f"- {item}", markup=False)


def _copied(console: Console, folder: Path, repository: Path, target: Target) -> Mapping[str, bytes]:
    """The repository's files that a task needs, in `repo/`; nothing is written where they do not hold the target."""
    from lmrbench.authoring.new import drafting
    from lmrbench.tasks.workspace import folder_files

    files, left_out = drafting.choose_files(folder_files(repository))
    _require(files, target)
    if (folder / "repo").is_dir():
        console.print(f"{folder / 'repo'}: kept as it is")
        return folder_files(folder / "repo")
    for path, data in files.items():
        drafting.write_new(folder / "repo" / path, data)
    console.print(f"{folder / 'repo'}: {len(files)} files")
    for path, reason in left_out.items():
        console.print(f"  left out {path}: {reason}")
    return files


def _fetched(console: Console, folder: Path, source: str) -> Tree:
    """The files of the source that task.toml pins, or that is pinned now, with the overlay's; they are in the cache."""
    from lmrbench.cli.terminal import progress
    from lmrbench.errors import TaskError
    from lmrbench.tasks.loading import load_repository
    from lmrbench.tasks.sources.fetch import fetch
    from lmrbench.tasks.sources.origin import Tree
    from lmrbench.tasks.sources.pin import pinned
    from lmrbench.tasks.workspace import folder_files

    if (folder / "task.toml").exists():
        tree = load_repository(folder)
        if not isinstance(tree, Tree):
            raise TaskError(
                f"{folder / 'task.toml'}: it has no [source]; --source begins a folder, or goes on with one"
            )
    else:
        overlay = folder_files(folder / "overlay") if (folder / "overlay").is_dir() else {}
        tree = Tree(folder, pinned(source), overlay)
    with progress() as bars:
        bar = bars.add_task(str(tree.source), total=None)
        fetch(tree.source, lambda done, total: bars.update(bar, completed=done, total=total))
    console.print(f"{tree.source}: {len(tree.places):,} files")
    return tree


def _require(files: Mapping[str, bytes], target: Target) -> None:
    from lmrbench.errors import TaskError
    from lmrbench.source.functions import find

    if target.file not in files:
        raise TaskError(f"{target}: there is no file {target.file}")
    try:
        find(files[target.file], target.qualname)
    except TaskError as error:
        raise TaskError(f"{target.file}: {error}") from error


def _say_written(console: Console, file: Path, written: bool) -> None:
    console.print(f"{file}: {'written' if written else 'kept as it is'}")
