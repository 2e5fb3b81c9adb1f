"""The matrix of a run: tasks by systems, a cell for all samples of one for the other, a page at a time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from lmrbench.runs.index import RunIndex
from lmrbench.tasks.submission import Answer


@dataclass(frozen=True)
class Cell:
    """All samples of one system for one task: how many were graded, passed, and ended without a grade."""

    graded: int
    passed: int
    unanswered: int
    answers: tuple[Answer, ...]

    @property
    def status(self) -> str:
        """`passed` where all do, `failed` where one does not, `unanswered` where none was graded, "" for nothing."""
        if self.graded:
            return "passed" if self.passed == self.graded else "failed"
        return "unanswered" if self.unanswered else ""


@dataclass(frozen=True)
class Page:
    """Some of many items: from which on, of how many, and where the pages before and after begin (None for none)."""

    items: Sequence[str]
    start: int
    total: int
    before: int | None
    after: int | None


def cells_of(run: RunIndex) -> dict[tuple[str, str], Cell]:
    """By system and task; samples in order."""
    answers: dict[tuple[str, str], list[Answer]] = {}
    for answer in sorted({*run.entries, *run.usages}):
        answers.setdefault((answer.system, answer.task), []).append(answer)
    cells = {}
    for key, some in answers.items():
        entries = [run.entries[answer] for answer in some if answer in run.entries]
        cells[key] = Cell(
            len(entries), sum(item.head.passed for item in entries), len(some) - len(entries), tuple(some)
        )
    return cells


def total(cells: Iterable[Cell]) -> Cell:
    """The numbers of several cells, as one."""
    some = list(cells)
    return Cell(
        sum(cell.graded for cell in some),
        sum(cell.passed for cell in some),
        sum(cell.unanswered for cell in some),
        (),
    )


def paged(items: Sequence[str], start: str, size: int) -> Page:
    """So many items, from the one on whose place an address gives as text; from the first where that is no place."""
    first = number_in(start, 0)
    first = first if first < len(items) else 0
    after = first + size
    return Page(
        items[first:after],
        first,
        len(items),
        max(0, first - size) if first else None,
        after if after < len(items) else None,
    )


def number_in(text: str, otherwise: int) -> int:
    """The number that an address gives as text; `otherwise` where it is none, or too long for any."""
    return int(text) if text.isdecimal() and len(text) < 10 else otherwise
