"""Tables as data, and their layout on terminals of any width."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lmrbench.report.render.cells import NumberedText, cell
from lmrbench.text import printable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from lmrbench.grading.records import CaseVerdict


@dataclass(frozen=True)
class Sheet:
    """A table.

    Attributes:
        title: The title, a noun phrase; may be empty.
        columns: The names of the columns.
        rows: The cells of each row; cells that show numbers are `NumberedText`.
        numbers: The names of the columns that are aligned to the right.
        spare: The names of the columns that are omitted on a narrow terminal, the last one in this list first.
        totals: The number of rows at the end that are set apart as totals.
        name: An identifier for file names and links.
        note: Sentences that explain the numbers and their limits.
        by_system: Whether the columns after the first, except spare columns, are systems. If they do not fit side by
            side, such a table may be transposed.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numbers: frozenset[str] = frozenset()
    spare: tuple[str, ...] = ()
    totals: int = 0
    name: str = ""
    note: str = ""
    by_system: bool = False


def sheet(
    title: str,
    columns: Iterable[str],
    rows: Iterable[Sequence[object]],
    numbers: Iterable[str] = (),
    spare: Iterable[str] = (),
    totals: int = 0,
    name: str = "",
    note: str = "",
    by_system: bool = False,
) -> Sheet:
    """Make a table from values of any type; None becomes an empty cell. The arguments are the attributes of `Sheet`."""
    texts = tuple(tuple(map(_text, row)) for row in rows)
    return Sheet(title, tuple(columns), texts, frozenset(numbers), tuple(spare), totals, name, note, by_system)


def _text(value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, int | float):
        return NumberedText(str(value), {"": value})
    return "" if value is None else str(value)


def show(item: Sheet, out: Console) -> None:
    """Print a table under its title.

    While the table is too wide, spare columns are omitted, the last one first. If systems are columns and do not fit
    side by side, they become rows. If the rows are too wide as well, the columns are split over several tables.

    Args:
        item: The table.
        out: The console, which sets the width.
    """
    shown = list(range(len(item.columns)))
    # A system may have the name of a spare column. Spare columns come last, so the last column of that name is spare.
    last = {name: place for place, name in enumerate(item.columns)}
    spare = [last[name] for name in item.spare if name in last]
    while spare and _width(item, shown) > out.width:
        shown.remove(spare.pop())
    parts = [shown]
    if item.by_system and _width(item, shown) > out.width:
        turned = _turned(item, shown)
        if _width(turned, range(len(turned.columns))) <= out.width:
            item, parts = turned, [list(range(len(turned.columns)))]
        else:
            parts = _side_by_side(item, shown, out.width)
    if item.title:
        out.print(cell(item.title, style="bold"))
    for part in parts:
        out.print(_table(item, part))
        out.print()


def _turned(item: Sheet, shown: Sequence[int]) -> Sheet:
    """Transpose a table whose columns are systems."""
    first, *others = shown
    columns = ("system", *(row[first] for row in item.rows))
    rows = tuple((item.columns[place], *(row[place] for row in item.rows)) for place in others)
    return Sheet(item.title, columns, rows, frozenset(columns[1:]))


def _side_by_side(item: Sheet, shown: Sequence[int], width: int) -> list[list[int]]:
    """Split the columns into parts that fit the width. Each part begins with the first column."""
    first, *others = shown
    parts = [[first]]
    for place in others:
        if len(parts[-1]) > 1 and _width(item, [*parts[-1], place]) > width:
            parts.append([first])
        parts[-1].append(place)
    return parts


def _table(item: Sheet, shown: Sequence[int]) -> Table:
    """Return a rich `Table` with only the columns at these positions."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for place in shown:
        column = item.columns[place]
        table.add_column(
            Text(printable(column)), justify="right" if column in item.numbers else "left", overflow="fold"
        )
    for number, row in enumerate(item.rows):
        if number == len(item.rows) - item.totals:
            table.add_row()
        cells = [row[place] for place in shown]
        # Line breaks in names are escaped, because the text after one could look like a message of lmrbench.
        table.add_row(Text(printable(cells[0])), *map(cell, cells[1:]))
    return table


def in_one_line(reason: str, most: int = 120) -> str:
    """Shorten the reason for a failure to one line, and cut it after `most` characters.

    If there are several lines, the first (up to a traceback) and the last are kept. The last line of a traceback states
    the error.
    """
    lines = reason.strip().splitlines() or [""]
    line = lines[0] if len(lines) == 1 else f"{lines[0].partition(': Traceback')[0]}: {lines[-1].strip()}"
    return line if len(line) <= most else f"{line[:most]}…"


def first_failure(case: CaseVerdict | None) -> str:
    """Describe the first failed case of an answer in one line. None means that the check has no cases."""
    if case is None:
        return "the check has no cases"
    kind = "edge case " if case.edge else ""
    return in_one_line(f"{kind}{case.name or case.case}: {case.verdict}: {case.reason}")


def _width(item: Sheet, shown: Sequence[int]) -> int:
    """Return the width in characters that the columns at these positions need if no cell is folded."""
    cells = [[line for row in (item.columns, *item.rows) for line in row[place].split("\n")] for place in shown]
    return sum(max(map(len, lines)) + 2 for lines in cells)
