"""`lmrbench fetch`: bring the code that tasks are set on to this machine."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.progress import TaskID

from lmrbench.cli.options import PATTERN_HELP, SuiteOption, load_tasks
from lmrbench.cli.terminal import progress, say, warn
from lmrbench.text import counted


def fetch(
    patterns: Annotated[list[str] | None, typer.Argument(metavar="[PAPER]...", help=PATTERN_HELP)] = None,
    suite: SuiteOption = None,
) -> None:
    """Download the packages, commits and archives that a suite's tasks are set on, and keep them in the cache.

    Each is verified before it is used, unpacked once, and never asked for again. Packages come from the indexes that
    pip is configured for. Nothing that is downloaded is run. After an interruption the same command goes on.

    Exits with 1 if one could not be had.
    """
    from lmrbench.errors import SourceError
    from lmrbench.tasks.sources.fetch import fetch as fetch_source
    from lmrbench.tasks.sources.origin import Tree, is_fetched

    trees = {
        tree.source.key: tree for task in load_tasks(suite, patterns) if isinstance(tree := task.files.repository, Tree)
    }
    if not trees:
        say("every repository of these tasks comes with the suite")
    failed = False
    with progress() as bars:
        for tree in trees.values():
            if is_fetched(tree.source):
                say(f"{tree.folder.name}: {tree.source} is here")
                continue
            bar = bars.add_task(str(tree.source), total=None)

            def advance(done: int, total: int | None, bar: TaskID = bar) -> None:
                bars.update(bar, completed=done, total=total)

            try:
                fetch_source(tree.source, advance)
                say(f"{tree.folder.name}: {tree.source}, {counted(len(tree.places), 'file')}")
            except SourceError as error:
                warn(f"{tree.folder.name}: {error}")
                failed = True
    if failed:
        raise typer.Exit(1)
