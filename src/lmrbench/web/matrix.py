"""The results of a run as a matrix with a row per task and a column per system, which is shown page by page.

A cell of the matrix covers all samples (attempts) of a system at a task. A sample is correct if all ordinary cases
match, and robust if all cases do.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from lmrbench.runs.index import RunIndex
from lmrbench.tasks.submission import Answer


@dataclass(frozen=True)
class MatrixCell:
    """The samples of one system at one task.

    Attributes:
        graded: The number of samples with a grade.
        correct: The number of correct samples.
        robust: The number of robust samples.
        unanswered: The number of samples that ended without a grade.
        answers: The samples, in order; () in a total.
    """

    graded: int
    correct: int
    robust: int
    unanswered: int
    answers: tuple[Answer, ...]

    @property
    def status(self) -> str:
        """The state of the cell.

        It is `robust` if all graded samples are robust, `correct` if all are correct, `wrong` if any is not correct,
        `unanswered` if no sample was graded, and "" if there are no samples.
        """
        if self.graded:
            return "robust" if self.robust == self.graded else "correct" if self.correct == self.graded else "wrong"
        return "unanswered" if self.unanswered else ""


@dataclass(frozen=True)
class ItemPage:
    """One page of a list.

    Attributes:
        items: The items on the page.
        start: The position of the first item in the list.
        total: The length of the list.
        before: The start of the previous page, or None on the first page.
        after: The start of the next page, or None on the last page.
    """

    items: Sequence[str]
    start: int
    total: int
    before: int | None
    after: int | None


def cells_of(run: RunIndex) -> dict[tuple[str, str], MatrixCell]:
    """Return the cells of a run by system and task."""
    answers: dict[tuple[str, str], list[Answer]] = {}
    for answer in sorted({*run.entries, *run.usages}):
        answers.setdefault((answer.system, answer.task), []).append(answer)
    cells = {}
    for key, some in answers.items():
        entries = [run.entries[answer] for answer in some if answer in run.entries]
        cells[key] = MatrixCell(
            len(entries),
            sum(item.head.correct for item in entries),
            sum(item.head.robust for item in entries),
            len(some) - len(entries),
            tuple(some),
        )
    return cells


def total(cells: Iterable[MatrixCell]) -> MatrixCell:
    """Return a cell with the sums of the counts in several cells."""
    some = list(cells)
    return MatrixCell(
        sum(cell.graded for cell in some),
        sum(cell.correct for cell in some),
        sum(cell.robust for cell in some),
        sum(cell.unanswered for cell in some),
        (),
    )


def paged(items: Sequence[str], start: str, size: int) -> ItemPage:
    """Return one page of a list.

    Args:
        items: The whole list.
        start: The position of the first item, as text from a URL. Invalid positions mean the first page.
        size: The number of items per page.

    Returns:
        The page.
    """
    first = parsed_number(start, 0)
    first = first if first < len(items) else 0
    after = first + size
    return ItemPage(
        items[first:after],
        first,
        len(items),
        max(0, first - size) if first else None,
        after if after < len(items) else None,
    )


def parsed_number(text: str, otherwise: int) -> int:
    """Return the non-negative integer in a text from a URL or form, or `otherwise` if the text is anything else."""
    return int(text) if text.isdecimal() and len(text) < 10 else otherwise
