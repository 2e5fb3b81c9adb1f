"""The files that a report is written to, besides the terminal."""

from __future__ import annotations

from pathlib import Path

from lmrbench.report.findings import Findings
from lmrbench.report.render.html import page
from lmrbench.report.render.tables import comma_separated, latex
from lmrbench.report.tables import sheets


def rendered(findings: Findings, html: Path | None, csv: Path | None, tex: Path | None) -> dict[Path, str]:
    """Return the text of each file that is asked for.

    Args:
        findings: What the runs hold.
        html: The file for a page with all tables and figures.
        csv: The folder for a CSV file of each table.
        tex: The file for all tables in LaTeX.
    """
    tables, files = sheets(findings), {}
    if html is not None:
        files[html] = page(findings, tables)
    if csv is not None:
        files |= {csv / f"{item.name}.csv": comma_separated(item) for item in tables}
    if tex is not None:
        files[tex] = "\n".join(map(latex, tables))
    return files
