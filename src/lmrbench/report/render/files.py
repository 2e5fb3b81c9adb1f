"""The files that a report is written to, in addition to the terminal."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from lmrbench.report.build import Report
from lmrbench.report.render.html import page
from lmrbench.report.render.text import comma_separated, latex


def rendered(made: Report, html: Path | None, csv: Path | None, tex: Path | None) -> Iterator[tuple[Path, str]]:
    """Yield each file that is asked for, with its text.

    Args:
        made: The report.
        html: The file for a page with all tables and figures.
        csv: The folder for a CSV file of each table.
        tex: The file for all tables in LaTeX.
    """
    if html is not None:
        yield html, page(made)
    if csv is not None:
        yield from ((csv / f"{item.name}.csv", comma_separated(item)) for item in made.sheets)
    if tex is not None:
        yield tex, "\n".join(map(latex, made.sheets))
