"""Print a report: one row per system, all tables, or the numbers of all tables as JSON."""

from __future__ import annotations

from pydantic_core import to_jsonable_python

from lmrbench.cli.terminal import print_json, say, show
from lmrbench.report.build import Report
from lmrbench.report.headlines import conclusions, grades_line, headline_sheets


def print_report(made: Report, full: bool = False, json: bool = False) -> None:
    """Print one row per system and the conclusions from these rows.

    Args:
        made: The report.
        full: Whether to print all other tables, too.
        json: Whether to print JSON instead: the numbers of all tables and the records that they are computed from.
    """
    if json:
        print_json(to_jsonable_python(made.numbers))
        return
    show(*headline_sheets(made), *(made.sheets if full else ()))
    say(*conclusions(made), *(made.not_submitted if full else ()), grades_line(made))
    if not full:
        say("`lmrbench report RUN --full` prints all tables; `lmrbench why RUN` lists the failures.")
