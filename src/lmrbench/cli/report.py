"""`lmrbench report`: the results of run folders, in tables. `lmrbench run` prints the same for its own run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lmrbench.cli.options import JsonOption, LabelFilesOption, RunsArgument, SuiteOption, print_json, run_folders
from lmrbench.cli.terminal import console, say, warn
from lmrbench.files import write_whole
from lmrbench.report.findings import Findings, together
from lmrbench.text import printable

if TYPE_CHECKING:
    from lmrbench.report.build import Report


def report(
    runs: RunsArgument,
    labels: LabelFilesOption = None,
    suite: SuiteOption = None,
    json: JsonOption = False,
    as_markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown.")] = False,
    html: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write a page with all tables, notes and figures.")
    ] = None,
    csv: Annotated[Path | None, typer.Option(metavar="DIR", help="Also write each table to a CSV file.")] = None,
    as_latex: Annotated[
        Path | None,
        typer.Option("--latex", metavar="FILE", help="Also write all tables as LaTeX (booktabs, graphicx)."),
    ] = None,
) -> None:
    """Report the results of run folders in tables.

    Pass rates by task and category with 95% intervals, failures, endings of answers, pass@k, cost per passing answer,
    progress of traced agents, speeds of timed answers, paired comparisons of systems, the smallest detectable
    difference, and ratings by judges and people. A table appears if the runs hold what it needs.

    A run may be finished, interrupted or made elsewhere; the command changes nothing and asks no model. Several
    folders are shown side by side. Samples that a provider or an agent's program left unanswered are listed apart and
    excluded from all rates.
    """
    from lmrbench.report.build import build
    from lmrbench.report.render.text import markdown
    from lmrbench.runs.folder import read_run

    findings = together([read_run(folder) for folder in run_folders(runs)], suite, labels or ())
    for warning in findings.warnings:
        warn(warning)
    made = build(findings)
    for file, data in _files(made, html, csv, as_latex):
        write_whole(file, data.encode())
        if not (json or as_markdown):
            say(f"{file}: written")
    if json:
        _print_json(made)
    elif as_markdown:
        print("\n".join([*map(markdown, made.sheets), *(f"{printable(line)}\n" for line in made.not_submitted)]))
    else:
        _print(made)


def print_findings(findings: Findings) -> None:
    """Print the report of some findings: its tables and its summary."""
    from lmrbench.report.build import build

    _print(build(findings))


def print_findings_as_json(findings: Findings) -> None:
    """Print the report of some findings as JSON: the numbers of all tables, and the records behind them."""
    from lmrbench.report.build import build

    _print_json(build(findings))


def _print(made: Report) -> None:
    from lmrbench.report.render.tables import show

    out = console()
    for item in made.sheets:
        show(item, out)
    for line in made.summary:
        say(line)


def _print_json(made: Report) -> None:
    from pydantic_core import to_jsonable_python

    print_json(to_jsonable_python(made.numbers))


def _files(made: Report, html: Path | None, csv: Path | None, as_latex: Path | None) -> Iterator[tuple[Path, str]]:
    """Yield the files that were asked for, with their content."""
    from lmrbench.report.render.html import page
    from lmrbench.report.render.text import comma_separated, latex

    if html is not None:
        yield html, page(made)
    if csv is not None:
        yield from ((csv / f"{item.name}.csv", comma_separated(item)) for item in made.sheets)
    if as_latex is not None:
        yield as_latex, "\n".join(map(latex, made.sheets))
