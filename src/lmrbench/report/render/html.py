"""Render a report as one self-contained HTML page with figures, tables and notes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lmrbench.text import printable
from lmrbench.version import __version__

if TYPE_CHECKING:
    from jinja2 import Environment

    from lmrbench.report.build import Report


def environment(package: str, folder: str) -> Environment:
    """Return a Jinja environment that escapes all values and raises an error if a template uses an undefined value.

    Args:
        package: The package that contains the templates.
        folder: The folder of the templates in the package.
    """
    from jinja2 import Environment, PackageLoader, StrictUndefined

    made = Environment(
        loader=PackageLoader(package, folder),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals["version"] = __version__
    made.filters["printable"] = lambda text: printable(str(text), lines=True)
    return made


def page(report: Report) -> str:
    """Return the HTML page of a report.

    The figures show only the first part of the report, which is the headline tier if that has results.
    """
    from lmrbench.report.drawings import drawings
    from lmrbench.report.headlines import conclusions, headline_sheets

    template = environment("lmrbench.report", "render").get_template("report.html.jinja")
    return template.render(
        report=report,
        findings=report.findings,
        headlines=headline_sheets(report),
        conclusions=conclusions(report),
        drawings=drawings(report.parts[0].numbers),
    )
