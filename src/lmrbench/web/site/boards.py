"""Make the boards of a site, which are tables of results.

Each combination of a way of grading, a suite and a group has a board. Runs were graded in the same way if they have the
same suite, harness (the program that runs checks) and sandbox. A group is a tier (kind of tasks) in one setting (prompt
or agent).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from lmrbench.records import grouped
from lmrbench.report.combine import together
from lmrbench.report.findings import by_group, by_suite
from lmrbench.web.site.data import Named, board
from lmrbench.web.site.records import Board


def boards_of(runs: Sequence[Named], suite: Path | None) -> list[Board]:
    """Return the boards that show the given runs.

    Args:
        runs: The runs. Runs that were graded in different ways are on separate boards.
        suite: The folder of the suite; None for the default suite.
    """
    boards = []
    for way, its in grouped(runs, lambda item: item.way).items():
        for name, part in by_suite(together([item.run for item in its], suite)).items():
            for group, rest in by_group(part).items():
                boards.append(board(way, name, group, rest, its))
    return boards
