"""Build the site of a leaderboard from run folders."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from lmrbench.runs.places import read_runs
from lmrbench.tasks.loading import load_suite, suite_folder
from lmrbench.web.site.boards import boards_of
from lmrbench.web.site.data import named, site_of
from lmrbench.web.site.pages import pages
from lmrbench.web.site.writing import require_place, write_site


class Built(NamedTuple):
    """The size of a site.

    Attributes:
        boards: The number of boards.
        files: The number of files.
        ways: The number of distinct ways in which the runs were graded: combinations of suite, suite digest, harness
            (the program that runs checks) and sandbox. Each way has boards of its own.
    """

    boards: int
    files: int
    ways: int


def build_site(folder: Path, runs: Iterable[Path], suite: Path | None) -> Built:
    """Write a site for the given runs, and replace an earlier site in the folder.

    Args:
        folder: The folder to write.
        runs: Run folders, or folders that contain run folders.
        suite: The folder of the suite; None for the suite `core` (see `suite_folder`).

    Returns:
        The size of the site.

    Raises:
        UsageError: Writing to the folder would lose other files, a run folder does not exist, or the site would be too
            large.
        RecordError: A folder contains no run, or a record in it is damaged.
    """
    require_place(folder)
    found = named(read_runs(runs))
    made = site_of(found, boards_of(found, suite), {item.id: item for item in load_suite(suite_folder(suite))})
    files = pages(made)
    write_site(folder, files)
    return Built(len(made.boards), len(files), len({item.way for item in found}))
