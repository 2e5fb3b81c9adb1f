"""Tables as Markdown, CSV and LaTeX."""

from __future__ import annotations

import csv
import io

from lmrbench.report.render.cells import NumberedText
from lmrbench.report.render.tables import Sheet
from lmrbench.text import printable

# Characters that LaTeX interprets, or that its default fonts print as other characters.
_TEX = str.maketrans(
    {letter: f"\\{letter}" for letter in "&%$#_{}"}
    | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    | {"<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}"}
    | {"[": "{[}", "]": "{]}", "…": r"\ldots{}"}
)


def markdown(item: Sheet) -> str:
    """Return a table as Markdown, under its title."""
    marks = ["---:" if column in item.numbers else "---" for column in item.columns]
    lines = [item.columns, marks, *item.rows]
    body = "\n".join(f"| {' | '.join(map(_plain, line))} |" for line in lines)
    return f"**{item.title}**\n\n{body}\n" if item.title else f"{body}\n"


def comma_separated(item: Sheet) -> str:
    """Return a table as CSV with a header.

    For a cell that shows numbers, only the numbers are written, each in a separate column. Shares are fractions of 1,
    differences have the unit of the table, and missing numbers are empty cells.
    """
    columns = []
    for place, name in enumerate(item.columns):
        cells = [row[place] for row in item.rows]
        kinds = dict.fromkeys(kind for text in cells if isinstance(text, NumberedText) for kind in text.numbers)
        if not kinds:
            columns.append([name, *cells])
        for kind in kinds:
            values = [text.numbers.get(kind) if isinstance(text, NumberedText) else None for text in cells]
            heading = name + kind if kind[:1] in ("", " ") else kind
            columns.append([heading, *("" if value is None else repr(value) for value in values)])
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerows([printable(text, lines=True) for text in line] for line in zip(*columns, strict=True))
    return file.getvalue()


def latex(item: Sheet) -> str:
    """Return a table as LaTeX for documents that load booktabs and graphicx.

    A table that is wider than the line is scaled down.
    """
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


def _tex(text: str) -> str:
    return printable(text, lines=True).replace("\n", " ").translate(_TEX)


def _plain(text: str) -> str:
    return printable(text, lines=True).replace("\n", "<br>").replace("|", "\\|")
