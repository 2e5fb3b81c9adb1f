"""Print the report of some runs: tables, or the numbers of all tables as JSON."""

from __future__ import annotations

from pydantic_core import to_jsonable_python

from lmrbench.cli.options import print_json
from lmrbench.cli.terminal import say, show
from lmrbench.report.build import Report


def print_report(made: Report) -> None:
    """Print all tables, and the rate and the costs of each system."""
    show(*made.sheets)
    for line in made.summary:
        say(line)


def print_report_as_json(made: Report) -> None:
    """Print the numbers of all tables, and the records behind them."""
    print_json(to_jsonable_python(made.numbers))
