"""Print the report of some runs: its headlines, all tables, or the numbers of all tables as JSON."""

from __future__ import annotations

from pydantic_core import to_jsonable_python

from lmrbench.cli.terminal import print_json, say, show
from lmrbench.report.build import Report
from lmrbench.report.headlines import conclusions, headline_sheets
from lmrbench.text import counted


def print_report(made: Report, full: bool = False) -> None:
    """Print one row per system and what may be concluded from it; in full, also all other tables."""
    show(*headline_sheets(made), *(made.sheets if full else ()))
    for line in (*conclusions(made), *(made.not_submitted if full else ())):
        say(line)
    folders = " ".join(map(str, made.findings.folders))
    conditions = "; ".join(made.findings.conditions)
    say(f"{counted(len(made.findings.grades), 'grade')} in {folders}{conditions and f' ({conditions})'}")
    if not full:
        say("`lmrbench report RUN --full` prints all tables; `lmrbench why RUN` lists the failures.")


def print_report_as_json(made: Report) -> None:
    """Print the numbers of all tables, and the records behind them."""
    print_json(to_jsonable_python(made.numbers))
