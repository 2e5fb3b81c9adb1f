"""`lmrbench export`: what does a solver get?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lmrbench.cli.options import PATTERN_HELP, FreshOption, SuiteOption, TierOption, load_tasks
from lmrbench.cli.terminal import progress, say, warn
from lmrbench.integrations.registry import EXPORTERS, exporter
from lmrbench.tasks.model import Inputs
from lmrbench.text import counted


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
        str,
        typer.Option(
            metavar="FORMAT",
            help="; ".join(f"{name}: {item.about}" for name, item in EXPORTERS.items())
            + "; or a format of another package.",
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
    write = exporter(format, goldens)
    tasks = load_tasks(suite, patterns, tier, fresh)
    if papers := sorted({task.paper.slug for task in tasks if task.other_tiers}):
        warn(
            "Tiers of one paper answer each other: give what is written here to no solver of their tasks of another "
            f"tier: {', '.join(papers)}"
        )
    written = write(tasks, to, inputs, **({"goldens": True} if goldens else {}))
    with progress() as bars:
        for path in bars.track(written, total=len(tasks), description="tasks"):
            say(str(path) if path != to else f"{counted(len(tasks), 'task')} in {to}")
