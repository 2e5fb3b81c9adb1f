"""`lmrbench env`: environments for papers whose requirements lmrbench's own installation does not meet."""

from __future__ import annotations

from typing import Annotated

import typer

from lmrbench.cli.options import PATTERN_HELP, SuiteOption, load_tasks
from lmrbench.cli.terminal import say, warn

app = typer.Typer(
    no_args_is_help=True, help="Make the environments of papers whose requirements this installation does not meet."
)


@app.command()
def build(
    patterns: Annotated[list[str] | None, typer.Argument(metavar="[PAPER]...", help=PATTERN_HELP)] = None,
    suite: SuiteOption = None,
) -> None:
    """Make the environments that papers need, with pip, from wheels alone, in the user's cache.

    A paper's `requirements` are met by the packages that lmrbench is installed with, or by an environment of their
    own, which papers with the same requirements share. Their checks run in it, and agents work in it. What was
    installed stands in its lock file, with the digest of each file; grades name that.

    An environment that was not made to its end is made anew. Exits with 1 if one could not be made.
    """
    from lmrbench.errors import SandboxError
    from lmrbench.sandbox.venvs import build as build_environment
    from lmrbench.sandbox.venvs import unmet_requirements

    papers = {task.paper.slug: task.paper for task in load_tasks(suite, patterns)}
    failed: set[tuple[str, ...]] = set()
    for slug, paper in papers.items():
        wanted = paper.requirements
        if not unmet_requirements(wanted):
            say(f"{slug}: the packages of this installation meet what it requires")
        elif wanted not in failed:
            try:
                say(f"{slug}: {build_environment(wanted)}")
            except SandboxError as error:
                warn(f"{slug}: {error}")
                failed.add(wanted)
    if failed:
        raise typer.Exit(1)
