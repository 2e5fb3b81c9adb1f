"""`lmrbench export`: what does a solver get?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lmrbench.cli.options import PATTERN_HELP, FreshOption, SuiteOption, TierOption, load_tasks
from lmrbench.cli.terminal import say
from lmrbench.tasks.model import Inputs


def export(
    patterns: Annotated[list[str], typer.Argument(metavar="TASK...", help=PATTERN_HELP.partition("; all")[0] + ".")],
    to: Annotated[Path, typer.Option("--to", metavar="DIR", help="Each workspace is written to DIR/paper/task.")],
    inputs: Annotated[
        Inputs, typer.Option(help="What is shown: full (the masked repository), paper+file, or paper.")
    ] = "full",
    tier: TierOption = "function",
    fresh: FreshOption = None,
    suite: SuiteOption = None,
) -> None:
    """Write what a solver sees of each task: masked repository, summary of the paper, instruction, and no answer."""
    from lmrbench.tasks.workspace import export_workspace

    for task in load_tasks(suite, patterns, tier, fresh):
        folder = to / task.paper.slug / task.name
        export_workspace(task, folder, inputs)
        say(str(folder))
