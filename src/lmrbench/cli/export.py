"""`lmrbench export`: what does a solver get?"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

import typer

from lmrbench.cli.options import PATTERN_HELP, FreshOption, SuiteOption, TierOption, load_tasks
from lmrbench.cli.terminal import progress, say, warn
from lmrbench.tasks.model import Inputs, Task
from lmrbench.text import counted

Format = Literal["workspace", "harbor", "huggingface", "jsonl"]


def export(
    patterns: Annotated[list[str], typer.Argument(metavar="TASK...", help=PATTERN_HELP.partition("; all")[0] + ".")],
    to: Annotated[
        Path,
        typer.Option(
            "--to",
            metavar="PATH",
            help="A folder: each workspace is written to PATH/paper/task, each task of Harbor to PATH/paper__task, a "
            "dataset to PATH. For jsonl, a file.",
        ),
    ],
    inputs: Annotated[
        Inputs, typer.Option(help="What is shown: full (the masked repository), paper+file, or paper.")
    ] = "full",
    format: Annotated[
        Format,
        typer.Option(
            help="workspace: folders to edit. harbor: folders that Harbor runs, which hold the answers in places that "
            "its agents don't see. huggingface: a dataset with a card. jsonl: the same rows in one file.",
        ),
    ] = "workspace",
    goldens: Annotated[
        bool, typer.Option("--goldens", help="With huggingface: also write the answers, for a gated dataset.")
    ] = False,
    tier: TierOption = "function",
    fresh: FreshOption = None,
    suite: SuiteOption = None,
) -> None:
    """Write what a solver sees of each task: masked repository, summary of the paper, instruction, and no answer."""
    from lmrbench.errors import UsageError
    from lmrbench.files import write_whole
    from lmrbench.integrations.huggingface import about_tiers, write_dataset, write_jsonl

    if goldens and format != "huggingface":
        raise UsageError("--goldens goes with --format huggingface")
    tasks = load_tasks(suite, patterns, tier, fresh)
    if papers := sorted({task.paper.slug for task in tasks if task.other_tiers}):
        warn(
            "Tiers of one paper answer each other: give what is written here to no solver of their tasks of another "
            f"tier: {', '.join(papers)}"
        )
    if format in ("workspace", "harbor"):
        _write_folders(tasks, to, inputs, format)
        if any(task.other_tiers for task in tasks):
            write_whole(to / "README.md", about_tiers(tasks).encode())
        return
    if format == "huggingface":
        write_dataset(tasks, to, inputs, goldens)
    else:
        write_jsonl(tasks, to, inputs)
    say(f"{counted(len(tasks), 'task')} in {to}")


def _write_folders(tasks: Sequence[Task], to: Path, inputs: Inputs, format: Format) -> None:
    from lmrbench.integrations.harbor import folder_name, write_harbor
    from lmrbench.tasks.workspace import export_workspace

    with progress() as bars:
        for task in bars.track(tasks, description="tasks"):
            if format == "harbor":
                folder = to / folder_name(task)
                write_harbor(task, folder, inputs)
            else:
                folder = to / task.paper.slug / task.name
                export_workspace(task, folder, inputs)
            say(str(folder))
