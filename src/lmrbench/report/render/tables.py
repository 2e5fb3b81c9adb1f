"""Tables as values: the same table on a terminal of any width, and as Markdown, CSV and LaTeX."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lmrbench.report.render.cells import Figure, cell
from lmrbench.text import printable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from lmrbench.grading.records import CaseVerdict

# What LaTeX would act upon, or its older fonts would show as another character.
_TEX = str.maketrans(
    {letter: f"\\{letter}" for letter in "&%$#_{}"}
    | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    | {"<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}"}
    | {"[": "{[}", "]": "{]}", "…": r"\ldots{}"}
)


@dataclass(frozen=True)
class Sheet:
    """A table. numbers: the columns that are aligned to the right. spare: those that a narrow terminal does without.

    totals: how many of the last rows are set apart. name: what files and links call it. note: in whole sentences, what
    it shows and what it does not, for a page that is read without the documentation. by_system: all columns but the
    first are systems, of which there may be more than fit beside each other.
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
    """A table of values of any kind; None is an empty cell."""
    texts = tuple(tuple(map(_text, row)) for row in rows)
    return Sheet(title, tuple(columns), texts, frozenset(numbers), tuple(spare), totals, name, note, by_system)


def _text(value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, int | float):
        return Figure(str(value), {"": value})
    return "" if value is None else str(value)


def show(item: Sheet, out: Console) -> None:
    """Print a table under its title; while it is too wide, spare columns are left out, the last named first.

    Where the systems do not fit beside each other, they are the rows; if that does not fit either, some of them follow
    below the others.
    """
    shown = list(range(len(item.columns)))
    # Columns may be named after systems, which have any name; ours come last.
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
    """The table with a row for each of these columns but the first, and a column for each row."""
    first, *others = shown
    columns = ("system", *(row[first] for row in item.rows))
    rows = tuple((item.columns[place], *(row[place] for row in item.rows)) for place in others)
    return Sheet(item.title, columns, rows, frozenset(columns[1:]))


def _side_by_side(item: Sheet, shown: Sequence[int], width: int) -> list[list[int]]:
    """The first column with as many of the others as fit beside it, as often as it takes."""
    first, *others = shown
    parts = [[first]]
    for place in others:
        if len(parts[-1]) > 1 and _width(item, [*parts[-1], place]) > width:
            parts.append([first])
        parts[-1].append(place)
    return parts


def _table(item: Sheet, shown: Sequence[int]) -> Table:
    """The columns at these places, as a table of rich."""
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
        # Whatever a name holds, no line may begin as ours do.
        table.add_row(Text(printable(cells[0])), *map(cell, cells[1:]))
    return table


def markdown(item: Sheet) -> str:
    """The table as Markdown, under its title."""
    marks = ["---:" if column in item.numbers else "---" for column in item.columns]
    lines = [item.columns, marks, *item.rows]
    body = "\n".join(f"| {' | '.join(map(_plain, line))} |" for line in lines)
    return f"**{item.title}**\n\n{body}\n" if item.title else f"{body}\n"


def comma_separated(item: Sheet) -> str:
    """The table as CSV, columns first: of a cell with numbers these alone, each in a column of its own.

    Shares are fractions of 1; differences that the table has in percentage points stay so. A number that is not there
    is an empty cell.
    """
    columns = []
    for place, name in enumerate(item.columns):
        cells = [row[place] for row in item.rows]
        kinds = dict.fromkeys(kind for text in cells if isinstance(text, Figure) for kind in text.numbers)
        if not kinds:
            columns.append([name, *cells])
        for kind in kinds:
            values = [text.numbers.get(kind) if isinstance(text, Figure) else None for text in cells]
            heading = name + kind if kind[:1] in ("", " ") else kind
            columns.append([heading, *("" if value is None else repr(value) for value in values)])
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerows([printable(text, lines=True) for text in line] for line in zip(*columns, strict=True))
    return file.getvalue()


def latex(item: Sheet) -> str:
    """The table as LaTeX, for the packages booktabs and graphicx; what is wider than a line is made smaller."""
    places = "".join("r" if column in item.numbers else "l" for column in item.columns)
    head, *body = [" & ".join(map(_tex, line)) + r" \\" for line in (item.columns, *item.rows)]
    if item.totals:
        body.insert(len(body) - item.totals, r"\midrule")
    lines = [
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{_tex(f'{item.title}. {item.note}' if item.note else item.title)}}}",
        rf"\label{{tab:{item.name}}}",
        r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%",
        rf"\begin{{tabular}}{{{places}}}",
        r"\toprule",
        head,
        r"\midrule",
        *body,
        r"\bottomrule",
        r"\end{tabular}}",
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def in_one_line(reason: str, most: int = 120) -> str:
    """A reason for a cell: its first words, and its last line, which of a traceback is the error itself."""
    lines = reason.strip().splitlines() or [""]
    line = lines[0] if len(lines) == 1 else f"{lines[0].partition(': Traceback')[0]}: {lines[-1].strip()}"
    return line if len(line) <= most else f"{line[:most]}…"


def first_failure(case: CaseVerdict | None) -> str:
    """The first case of an answer that failed, for a cell; None for one of a check without cases."""
    if case is None:
        return "the check has no cases"
    return in_one_line(f"{case.name or case.case}: {case.verdict}: {case.reason}")


def _width(item: Sheet, shown: Sequence[int]) -> int:
    """How many characters a table takes with the columns at these places, where no cell is folded."""
    cells = [[line for row in (item.columns, *item.rows) for line in row[place].split("\n")] for place in shown]
    return sum(max(map(len, lines)) + 2 for lines in cells)


def _tex(text: str) -> str:
    return printable(text, lines=True).replace("\n", " ").translate(_TEX)


def _plain(text: str) -> str:
    return printable(text, lines=True).replace("\n", "<br>").replace("|", "\\|")
