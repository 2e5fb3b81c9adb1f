"""`lmrbench report`: how did each system of some runs do? `lmrbench run` prints the same of its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from lmrbench.cli.options import JsonOption, LabelFilesOption, RunsArgument, SuiteOption, print_json, run_folders
from lmrbench.cli.terminal import console, say, warn
from lmrbench.files import write_whole
from lmrbench.report.findings import Findings, by_suite, by_tier, not_submitted, parts_of, together
from lmrbench.report.render.tables import comma_separated, latex, markdown, show
from lmrbench.report.tables import effects_of_repositories, sheets
from lmrbench.text import counted, printable


def report(
    runs: RunsArgument,
    labels: LabelFilesOption = None,
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
    several answers to a task, what a passing answer takes, when agents that were traced were first right, how fast
    passing answers are where they were timed, systems compared in pairs, how small a difference the tasks can detect,
    and what judges and people say, beside the tests.

    A run may be finished, killed half-way or made elsewhere; nothing is asked, graded or changed. Several folders are
    shown side by side. Samples that a provider or an agent's program left unanswered are listed apart, and are in no
    rate.
    """
    from lmrbench.runs.folder import read_run

    findings = together([read_run(folder) for folder in run_folders(runs)], suite, labels or ())
    for warning in findings.warnings:
        warn(warning)
    if html or csv or as_latex:
        for file, data in _files(findings, html, csv, as_latex):
            write_whole(file, data.encode())
            if not (json or as_markdown):
                say(f"{file}: written")
    if json:
        print_findings_as_json(findings)
    elif as_markdown:
        lines = [f"{printable(line)}\n" for line in not_submitted(findings)]
        print("\n".join([*map(markdown, sheets(findings)), *lines]))
    else:
        print_findings(findings)


def _files(
    findings: Findings,
    html: Path | None,
    csv: Path | None,
    as_latex: Path | None,
) -> Iterator[tuple[Path, str]]:
    """The files that were asked for, and what belongs into each."""
    tables = sheets(findings)
    if html is not None:
        from lmrbench.report.render.html import page

        yield html, page(findings, tables)
    if csv is not None:
        yield from ((csv / f"{item.name}.csv", comma_separated(item)) for item in tables)
    if as_latex is not None:
        yield as_latex, "\n".join(map(latex, tables))


def print_findings(findings: Findings) -> None:
    """Print all tables, and the costs of each system."""
    from lmrbench.report.measures.rates import costs, rates

    out = console()
    for item in sheets(findings):
        show(item, out)
    for where, part in parts_of(findings):
        for of_systems in rates(part.grades, part.usages, lambda task: "all").values():
            for system, rate in of_systems.items():
                say(f"{system}{where}: {rate}")
    for line in not_submitted(findings):
        say(line)
    for system, cost in costs(findings.usages).items():
        dollars = f", ${cost.dollars:.4f}" if cost.dollars is not None else ""
        tokens = f"{cost.input_tokens:,} tokens in, {cost.output_tokens:,} out"
        say(f"{system}: {tokens}{dollars}; {cost.seconds:.1f} s of work per sample")
    say(f"{counted(len(findings.grades), 'grade')} in {', '.join(map(str, findings.folders))}")


def print_findings_as_json(findings: Findings) -> None:
    """Print the numbers of all tables, and the records that they were made of."""
    suites = by_suite(findings)
    facts = {"runs": [str(folder) for folder in findings.folders]}
    if len(suites) > 1:
        effects = effects_of_repositories(findings)
        apart = {suite: _of_tiers(part) for suite, part in suites.items()}
        print_json({**facts, "suites": apart, "repositories": [item.model_dump() for item in effects]})
    else:
        print_json({**facts, **_of_tiers(findings)})


def _of_tiers(findings: Findings) -> dict[str, object]:
    """The numbers of all tables of one suite."""
    from lmrbench.report.measures.memory import memory_effects

    parts = by_tier(findings)
    if len(parts) == 1:
        return {"tier": next(iter(parts)), **_numbers(findings)}
    memory = [item.model_dump() for item in memory_effects(findings.grades, findings.originals)]
    return {"tiers": {tier: _numbers(part) for tier, part in parts.items()}, "memory": memory}


def _numbers(findings: Findings) -> dict[str, object]:
    """The numbers of all tables of one tier."""
    from lmrbench.report.measures.attempts import attempts
    from lmrbench.report.measures.comparison import comparisons
    from lmrbench.report.measures.effort import effort
    from lmrbench.report.measures.power import ASSUMED_DISCORDANT, detectable_difference
    from lmrbench.report.measures.progress import curves, first_right
    from lmrbench.report.measures.rates import changes_found, costs, failures, rates, statuses
    from lmrbench.report.measures.ratings import beside_tests, opposites, ratings, tallies
    from lmrbench.report.measures.speed import speeds

    rated = ratings(findings.judgements, findings.labels)
    groups = rates(findings.grades, findings.usages, lambda task: "all")
    groups |= rates(findings.grades, findings.usages, findings.categories.__getitem__)
    return {
        "rates": {
            group: {system: item.model_dump() for system, item in of_systems.items()}
            for group, of_systems in groups.items()
        },
        "changes_found": [item.model_dump() for item in changes_found(findings.grades)],
        "not_submitted": findings.not_submitted,
        "failures": [item.model_dump() for item in failures(findings.grades)],
        "statuses": statuses(findings.usages),
        "costs": {system: item.model_dump() for system, item in costs(findings.usages).items()},
        "attempts": {
            system: [item.model_dump() for item in of_system] for system, of_system in attempts(findings.grades).items()
        },
        "effort": {system: item.model_dump() for system, item in effort(findings.grades, findings.usages).items()},
        "first_right": {system: item.model_dump() for system, item in first_right(findings.snapshots).items()},
        "curves": curves(findings.snapshots),
        "speeds": {system: item.model_dump() for system, item in speeds(findings.grades).items()},
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
        "tallies": [item.model_dump() for item in tallies(rated)],
        "beside_tests": [item.model_dump() for item in beside_tests(rated, findings.grades)],
        "opposites": [
            {**item.model_dump(), "command": findings.commands[item.answer]}
            for item in opposites(rated, findings.grades)
        ],
        "grades": [item.model_dump(mode="json") for item in findings.grades],
        "usage": [item.model_dump(mode="json") for item in findings.usages],
        "progress": [item.model_dump(mode="json") for item in findings.snapshots],
    }
