"""`lmrbench report`: how did each system of some runs do? `lmrbench run` prints the same of its own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lmrbench.cli.options import JsonOption, SuiteOption, load_tasks, print_json
from lmrbench.cli.report_tables import Findings, sheets
from lmrbench.cli.tables import comma_separated, latex, markdown, show
from lmrbench.cli.terminal import console, say, warn
from lmrbench.storage import write_whole

if TYPE_CHECKING:
    from lmrbench.grading.runs import Run


def report(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Run folders, of `lmrbench run` or `grade`.")],
    suite: SuiteOption = None,
    json: JsonOption = False,
    as_markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown.")] = False,
    html: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write a page: all tables, explained, and figures.")
    ] = None,
    csv: Annotated[Path | None, typer.Option(metavar="DIR", help="Also write each table to a CSV file.")] = None,
    as_latex: Annotated[
        Path | None,
        typer.Option("--latex", metavar="FILE", help="Also write all tables as LaTeX (booktabs, graphicx)."),
    ] = None,
) -> None:
    """Report what run folders hold, in tables.

    By task and by category with 95% intervals, failures by kind, how answers ended, costs, pass@k where there are
    several answers to a task, what a passing answer takes, when agents that were traced were first right, systems
    compared in pairs, and how small a difference the tasks can detect.

    A run may be finished, killed half-way or made elsewhere; nothing is asked, graded or changed. Several folders are
    shown side by side. Samples that a provider or an agent's program left unanswered are listed apart, and are in no
    rate.
    """
    from lmrbench.grading.runs import read_run

    found = [read_run(folder) for folder in runs]
    warnings = _warnings(found)
    for warning in warnings:
        warn(warning)
    findings = together(found, {item.id: item.category for item in load_tasks(suite, None)})
    if html or csv or as_latex:
        for file, data in _files(findings, warnings, html, csv, as_latex):
            write_whole(file, data.encode())
            if not (json or as_markdown):
                say(f"{file}: written")
    if json:
        print_findings_as_json(findings)
    elif as_markdown:
        print("\n".join(map(markdown, sheets(findings))))
    else:
        print_findings(findings)


def _warnings(runs: Sequence[Run]) -> list[str]:
    """What a reader must know before the numbers."""
    found = []
    for run in runs:
        if not run.grades:
            found.append(f"{run.folder}: holds no grades, so that there is no rate of it")
        if run.unsigned:
            found.append(f"{run.folder}: {run.unsigned} of {len(run.grades)} grades were not made by this installation")
    if len({run.facts.suite_digest for run in runs if run.facts}) > 1:
        found.append("these runs are of different versions of the suite; their rates are not to be compared")
    return found


def _files(
    findings: Findings,
    warnings: Sequence[str],
    html: Path | None,
    csv: Path | None,
    as_latex: Path | None,
) -> Iterator[tuple[Path, str]]:
    """The files that were asked for, and what belongs into each."""
    tables = sheets(findings)
    if html is not None:
        from lmrbench.cli.html_page import page

        yield html, page(findings, tables, warnings)
    if csv is not None:
        yield from ((csv / f"{item.name}.csv", comma_separated(item)) for item in tables)
    if as_latex is not None:
        yield as_latex, "\n".join(map(latex, tables))


def together(runs: Sequence[Run], categories: Mapping[str, str]) -> Findings:
    """Several runs as one. A system that occurs in more than one folder is named with its folder.

    categories: of the tasks of a suite; tasks without a grade that are not among them are of category "unknown".
    """
    from lmrbench.judging.records import JUDGEMENTS, Judgement
    from lmrbench.lines import read_lines

    places = {(item.system, run.folder) for run in runs for item in run.grades}
    places |= {(item.system, run.folder) for run in runs for item in run.usages}
    several = {system for system, count in Counter(system for system, _ in places).items() if count > 1}

    def name(system: str, run: Run) -> dict[str, str]:
        return {"system": f"{system} ({run.folder})" if system in several else system}

    grades = tuple(item.model_copy(update=name(item.system, run)) for run in runs for item in run.grades)
    usages = tuple(item.model_copy(update=name(item.system, run)) for run in runs for item in run.usages)
    snapshots = tuple(item.model_copy(update=name(item.system, run)) for run in runs for item in run.snapshots)
    known = {item.task: categories.get(item.task, "unknown") for item in usages}
    known |= {item.task: item.category for item in grades}
    judgements = tuple(
        item.model_copy(update=name(item.system, run))
        for run in runs
        for item in read_lines(run.folder / JUDGEMENTS, Judgement)
    )
    return Findings(tuple(run.folder for run in runs), grades, usages, snapshots, judgements, known)


def print_findings(findings: Findings) -> None:
    """Print all tables, and the costs of each system."""
    from lmrbench.analysis.report import costs, rates

    out = console()
    for item in sheets(findings):
        show(item, out)
    for of_systems in rates(findings.grades, findings.usages, lambda task: "all").values():
        for system, rate in of_systems.items():
            say(f"{system}: {rate}")
    for system, cost in costs(findings.usages).items():
        dollars = f", ${cost.dollars:.4f}" if cost.dollars is not None else ""
        tokens = f"{cost.input_tokens:,} tokens in, {cost.output_tokens:,} out"
        say(f"{system}: {tokens}{dollars}; {cost.seconds:.1f} s of work per sample")
    say(f"{len(findings.grades)} grades in {', '.join(map(str, findings.folders))}")


def print_findings_as_json(findings: Findings) -> None:
    """Print the numbers of all tables, and the records that they were made of."""
    from lmrbench.analysis.attempts import attempts
    from lmrbench.analysis.comparison import comparisons
    from lmrbench.analysis.effort import effort
    from lmrbench.analysis.power import ASSUMED_DISCORDANT, detectable_difference
    from lmrbench.analysis.progress import curves, first_right
    from lmrbench.analysis.report import costs, failures, rates, statuses

    groups = rates(findings.grades, findings.usages, lambda task: "all")
    groups |= rates(findings.grades, findings.usages, findings.categories.__getitem__)
    print_json(
        {
            "runs": [str(folder) for folder in findings.folders],
            "rates": {
                group: {system: item.model_dump() for system, item in of_systems.items()}
                for group, of_systems in groups.items()
            },
            "failures": [item.model_dump() for item in failures(findings.grades)],
            "statuses": statuses(findings.usages),
            "costs": {system: item.model_dump() for system, item in costs(findings.usages).items()},
            "attempts": {
                system: [item.model_dump() for item in of_system]
                for system, of_system in attempts(findings.grades).items()
            },
            "effort": {system: item.model_dump() for system, item in effort(findings.grades, findings.usages).items()},
            "first_right": {system: item.model_dump() for system, item in first_right(findings.snapshots).items()},
            "curves": curves(findings.snapshots),
            "comparisons": [
                {
                    **item.model_dump(),
                    "discordant": item.discordant,
                    "detectable_difference": detectable_difference(item.tasks, item.discordant or ASSUMED_DISCORDANT),
                }
                for item in comparisons(findings.grades)
            ],
            "detectable_difference": detectable_difference(
                len({item.task for item in findings.grades}), ASSUMED_DISCORDANT
            ),
            "grades": [item.model_dump(mode="json") for item in findings.grades],
            "usage": [item.model_dump(mode="json") for item in findings.usages],
            "progress": [item.model_dump(mode="json") for item in findings.snapshots],
        }
    )
