"""`lmrbench site`: a leaderboard as files, for any web server or none."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lmrbench.cli.options import RunsArgument, SuiteOption, run_folders
from lmrbench.cli.terminal import say, warn
from lmrbench.report.findings import by_suite, by_tier, together
from lmrbench.tasks.loading import suite_folder
from lmrbench.text import counted


def site(
    runs: RunsArgument,
    to: Annotated[
        Path, typer.Option("--to", metavar="DIR", help="Where the site is written, in the place of an earlier one.")
    ],
    suite: SuiteOption = None,
) -> None:
    """Write a leaderboard of runs as a static site: systems, tasks, comparisons, and how all of it was graded.

    The pages need no server and load nothing from elsewhere. They show neither reasons nor answers. Tiers, and runs of
    other suites, other versions or another way of grading, stand apart. The same runs give the same site.
    """
    from lmrbench.records import grouped
    from lmrbench.runs.folder import read_run
    from lmrbench.tasks.loading import load_suite
    from lmrbench.web.site.data import board, named, site_of
    from lmrbench.web.site.pages import pages
    from lmrbench.web.site.writing import require_place, write_site

    require_place(to)
    found = named([read_run(folder) for folder in run_folders(runs)])
    ways = grouped(found, lambda item: item.way)
    if len(ways) > 1:
        warn("these runs are of different suites or versions, or were graded differently; they stand on boards apart")
    boards = []
    for way, its in ways.items():
        for name, part in by_suite(together([item.run for item in its], suite)).items():
            for tier, rest in by_tier(part).items():
                boards.append(board(way, name, tier, rest, its))
    made = site_of(found, boards, {item.id: item for item in load_suite(suite_folder(suite))})
    files = pages(made)
    write_site(to, files)
    say(f"{to}: {counted(len(made.boards), 'board')}, {counted(len(files), 'file')}; index.html is the leaderboard")
