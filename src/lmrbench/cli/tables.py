"""Tables as values: the same table on a terminal of any width, in a file, and as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lmrbench.cli.terminal import cell
from lmrbench.printable import printable

if TYPE_CHECKING:
    from rich.console import Console


@dataclass(frozen=True)
class Sheet:
    """A table. numbers: the columns that are aligned to the right. spare: those that a narrow terminal does without.

    totals: how many of the last rows are set apart.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numbers: frozenset[str] = frozenset()
    spare: tuple[str, ...] = ()
    totals: int = 0


def sheet(
    title: str,
    columns: Iterable[str],
    rows: Iterable[Sequence[object]],
    numbers: Iterable[str] = (),
    spare: Iterable[str] = (),
    totals: int = 0,
) -> Sheet:
    """A table of values of any kind; None is an empty cell."""
    texts = tuple(tuple("" if value is None else str(value) for value in row) for row in rows)
    return Sheet(title, tuple(columns), texts, frozenset(numbers), tuple(spare), totals)


def show(item: Sheet, out: Console) -> None:
    """Print a table under its title; while it is too wide, spare columns are left out, the last named first."""
    from rich.table import Table
    from rich.text import Text

    shown, spare = list(item.columns), list(item.spare)
    while spare and _width(item, shown) > out.width:
        shown.remove(spare.pop())
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for column in shown:
        table.add_column(
            Text(printable(column)), justify="right" if column in item.numbers else "left", overflow="fold"
        )
    for number, row in enumerate(item.rows):
        if number == len(item.rows) - item.totals:
            table.add_row()
        cells = [text for column, text in zip(item.columns, row, strict=True) if column in shown]
        # Whatever a name holds, no line may begin as ours do.
        table.add_row(Text(printable(cells[0])), *map(cell, cells[1:]))
    if item.title:
        out.print(cell(item.title, style="bold"))
    out.print(table)
    out.print()


def markdown(item: Sheet) -> str:
    """The table as Markdown, under its title."""
    marks = ["---:" if column in item.numbers else "---" for column in item.columns]
    lines = [item.columns, marks, *item.rows]
    body = "\n".join(f"| {' | '.join(map(_plain, line))} |" for line in lines)
    return f"**{item.title}**\n\n{body}\n" if item.title else f"{body}\n"


def in_one_line(reason: str, most: int = 120) -> str:
    """A reason for a cell: its first words, and its last line, which of a traceback is the error itself."""
    lines = reason.strip().splitlines() or [""]
    line = lines[0] if len(lines) == 1 else f"{lines[0].partition(': Traceback')[0]}: {lines[-1].strip()}"
    return line if len(line) <= most else f"{line[:most]}…"


def _width(item: Sheet, shown: Sequence[str]) -> int:
    """How many characters a table takes with these columns, where no cell is folded."""
    places = [item.columns.index(column) for column in shown]
    cells = [[line for row in (item.columns, *item.rows) for line in row[place].split("\n")] for place in places]
    return sum(max(map(len, lines)) + 2 for lines in cells)


def _plain(text: str) -> str:
    return printable(text, lines=True).replace("\n", "<br>").replace("|", "\\|")
