"""`lmrbench new`: from a repository and a function to a task that grades."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from lmrbench.tasks.model import Target


def new(
    repository: Annotated[Path, typer.Argument(metavar="REPOSITORY", help="A folder with Python files.")],
    target: Annotated[
        str, typer.Argument(metavar="TARGET", help="The function to mask: simclr.py::SimCLR.info_nce_loss.")
    ],
    to: Annotated[Path, typer.Option("--to", metavar="DIR", help="The suite folder; the task goes to DIR/SLUG.")],
    slug: Annotated[str, typer.Option("--slug", metavar="SLUG", help="The paper's short name: simclr.")],
    command: Annotated[
        str, typer.Option("--command", help="Run in the repository to see how the target is called.")
    ] = "python experiment.py",
    paper: Annotated[
        Path | None,
        typer.Option("--paper", metavar="FILE", help="The paper, as PDF or text, for the summary's outline."),
    ] = None,
    category: Annotated[
        str, typer.Option(help="One of the categories in suite.toml; any name where there is none.")
    ] = "training_objectives",
) -> None:
    """Make a task from a repository: copy it, watch the target at work, propose a check, audit it, list what is left.

    Whatever is there already is kept and said to be so: run the same command again after a change, or after Ctrl-C.
    """
    from rich.console import Console

    from lmrbench.authoring import drafting
    from lmrbench.cli.audit import QUICK_SEEDS, audit_with_progress
    from lmrbench.errors import TaskError, UsageError
    from lmrbench.pysource.functions import find
    from lmrbench.tasks.loading import load_facts, load_paper
    from lmrbench.tasks.model import Target
    from lmrbench.tasks.workspace import folder_files, goal_signatures

    console = Console(highlight=False, soft_wrap=True)
    try:
        wanted = Target.parse(target)
    except ValueError as error:
        raise TaskError(str(error)) from error
    files, left_out = drafting.choose_files(folder_files(repository))
    if wanted.file not in files:
        raise TaskError(f"{target}: there is no file {repository / wanted.file}")
    try:
        find(files[wanted.file], wanted.qualname)
    except TaskError as error:
        raise TaskError(f"{wanted.file}: {error}") from error
    for option, given in (("slug", slug), ("category", category)):
        if not re.fullmatch(r"[a-z0-9][a-z0-9_]*", given):
            raise UsageError(f"--{option} {given}: small letters, digits and underscores are allowed")
    text = drafting.read_paper(paper) if paper is not None else ""
    folder = to / slug
    name = re.sub(r"\W", "_", wanted.qualname.rpartition(".")[2]).strip("_").lower()

    if (folder / "repo").is_dir():
        console.print(f"{folder / 'repo'}: kept as it is")
        files = folder_files(folder / "repo")
    else:
        for path, data in files.items():
            drafting.write_new(folder / "repo" / path, data)
        console.print(f"{folder / 'repo'}: {len(files)} files")
        for path, reason in left_out.items():
            console.print(f"  left out {path}: {reason}")
    decisions = _propose_check(console, folder / "checks" / f"{name}.py", wanted, files, command)
    for file, content in (
        (folder / "task.toml", drafting.draft_table(slug, name, category, wanted)),
        (folder / "paper.md", drafting.draft_summary(text)),
    ):
        _say_written(console, file, drafting.write_new(file, content))
    task = next((item for item in load_paper(folder, load_facts(to)) if item.name == name), None)
    if task is None:
        raise TaskError(f"{folder / 'task.toml'}: it holds no task named {name!r}; add one, or name another target")
    console.print("\nWhat masking leaves of the target:\n")
    console.print(goal_signatures(task)[wanted], markup=False)
    try:
        shortfalls = audit_with_progress([task], QUICK_SEEDS, None, to, write=False)[task.id].shortfalls
    except TaskError as error:
        shortfalls = (str(error),)
    console.print(
        f"\nWhat is left for a person to decide (`lmrbench audit {slug} --suite {to} --quick` shows what survives):"
    )
    for draft in (folder / "task.toml", folder / "paper.md"):
        if "TODO" in draft.read_text("utf-8"):
            decisions.append(f"{draft}: fill in what is marked TODO")
    for item in (*decisions, *shortfalls):
        console.print(f"- {item}", markup=False)


def _propose_check(console: Console, file: Path, target: Target, files: dict[str, bytes], command: str) -> list[str]:
    from lmrbench.authoring.drafting import write_new
    from lmrbench.authoring.proposing import propose
    from lmrbench.authoring.recorder import MOST_CALLS
    from lmrbench.authoring.recording import record

    if file.exists():
        console.print(f"{file}: kept as it is")
        return []
    with console.status(f"{command} runs, and {target} is watched"):
        calls = record(files, target, command)
    most = ", the most that are: later ones are not looked at" if len(calls) == MOST_CALLS else ""
    console.print(f"{command}: {len(calls)} calls of the target recorded{most}")
    proposal = propose(target, files, calls, command)
    _say_written(console, file, write_new(file, proposal.check))
    return list(proposal.decisions)


def _say_written(console: Console, file: Path, written: bool) -> None:
    console.print(f"{file}: {'written' if written else 'kept as it is'}")
