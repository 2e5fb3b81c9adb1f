"""The boards of a site: one for each way of grading, suite and tier."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from lmrbench.records import grouped
from lmrbench.report.findings import by_suite, by_tier, together
from lmrbench.web.site.data import Named, board
from lmrbench.web.site.records import Board


def boards_of(runs: Sequence[Named], suite: Path | None) -> list[Board]:
    """Return the boards of some runs.

    Args:
        runs: The runs. Those that were graded differently are on separate boards.
        suite: The suite, as --suite names it.
    """
    boards = []
    for way, its in grouped(runs, lambda item: item.way).items():
        for name, part in by_suite(together([item.run for item in its], suite)).items():
            for tier, rest in by_tier(part).items():
                boards.append(board(way, name, tier, rest, its))
    return boards
