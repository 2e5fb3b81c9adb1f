"""Render a report as HTML, CSV and LaTeX files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from lmrbench.report.build import Report
from lmrbench.report.render.html import page
from lmrbench.report.render.text import comma_separated, latex


def rendered(made: Report, html: Path | None, csv: Path | None, tex: Path | None) -> Iterator[tuple[Path, str]]:
    """Yield the path and the text of each requested file.

    Args:
        made: The report.
        html: The file for a page with all tables and figures; None for no page.
        csv: The folder for a CSV file of each table; None for no CSV files.
        tex: The file for all tables in LaTeX; None for no LaTeX file.
    """
    if html is not None:
        yield html, page(made)
    if csv is not None:
        yield from ((csv / f"{item.name}.csv", comma_separated(item)) for item in made.sheets)
    if tex is not None:
        yield tex, "\n".join(map(latex, made.sheets))
