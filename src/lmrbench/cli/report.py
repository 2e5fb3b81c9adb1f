"""`lmrbench report`: how did each system of some runs do? `lmrbench run` prints the same of its own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lmrbench.cli.options import JsonOption, SuiteOption, load_tasks, print_json
from lmrbench.cli.tables import Sheet, in_one_line, markdown, sheet, show
from lmrbench.cli.terminal import console, say, warn

if TYPE_CHECKING:
    from lmrbench.analysis.report import Rate
    from lmrbench.grading.records import Grade, Usage
    from lmrbench.grading.runs import Run


@dataclass(frozen=True)
class Findings:
    """What several runs hold together. categories: of the tasks, by id. folders: where it stands."""

    folders: tuple[Path, ...]
    grades: tuple[Grade, ...]
    usages: tuple[Usage, ...]
    categories: Mapping[str, str]


def report(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Run folders, of `lmrbench run` or `grade`.")],
    suite: SuiteOption = None,
    json: JsonOption = False,
    as_markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown.")] = False,
) -> None:
    """Report what run folders hold, in tables.

    By task and by category with 95% intervals, failures by kind, how answers ended, and costs.

    A run may be finished, killed half-way or made elsewhere; nothing is asked, graded or changed. Several folders are
    shown side by side. Samples that a provider or an agent's program left unanswered are listed apart, and are in no
    rate.
    """
    from lmrbench.grading.runs import read_run

    found = [read_run(folder) for folder in runs]
    for run in found:
        if run.unsigned:
            warn(f"{run.folder}: {run.unsigned} of {len(run.grades)} grades were not made by this installation")
    if len({run.facts.suite_digest for run in found if run.facts}) > 1:
        warn("these runs are of different versions of the suite; their rates are not to be compared")
    findings = together(found, {item.id: item.category for item in load_tasks(suite, None)})
    if json:
        print_findings_as_json(findings)
    elif as_markdown:
        print("\n".join(markdown(item) for item in sheets(findings)))
    else:
        print_findings(findings)


def together(runs: Sequence[Run], categories: Mapping[str, str]) -> Findings:
    """Several runs as one. A system that occurs in more than one folder is named with its folder.

    categories: of the tasks of a suite; tasks without a grade that are not among them are of category "unknown".
    """
    places = {(item.system, run.folder) for run in runs for item in run.grades}
    places |= {(item.system, run.folder) for run in runs for item in run.usages}
    several = {system for system, count in Counter(system for system, _ in places).items() if count > 1}

    def name(system: str, run: Run) -> dict[str, str]:
        return {"system": f"{system} ({run.folder})" if system in several else system}

    grades = tuple(item.model_copy(update=name(item.system, run)) for run in runs for item in run.grades)
    usages = tuple(item.model_copy(update=name(item.system, run)) for run in runs for item in run.usages)
    known = {item.task: categories.get(item.task, "unknown") for item in usages}
    known |= {item.task: item.category for item in grades}
    return Findings(tuple(run.folder for run in runs), grades, usages, known)


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
            "grades": [item.model_dump(mode="json") for item in findings.grades],
            "usage": [item.model_dump(mode="json") for item in findings.usages],
        }
    )


def sheets(findings: Findings) -> list[Sheet]:
    """The tables of a report: by task, by category, failures, and what was left unanswered."""
    from lmrbench.analysis.report import rates

    by_task = rates(findings.grades, findings.usages, lambda task: task)
    groups = rates(findings.grades, findings.usages, findings.categories.__getitem__)
    groups |= rates(findings.grades, findings.usages, lambda task: "all")
    systems = list(dict.fromkeys(system for of_systems in by_task.values() for system in of_systems))
    found = [_by_task(by_task, systems, findings.usages), _by_category(groups, systems)]
    return [*found, *_failures(findings.grades), *_endings(findings.usages)]


def _by_task(by_task: Mapping[str, Mapping[str, Rate]], systems: Sequence[str], usages: Sequence[Usage]) -> Sheet:
    rows = []
    for task, of_systems in by_task.items():
        found = [of_systems.get(system) for system in systems]
        ended = Counter(item.status.replace("_", " ") for item in usages if item.task == task)
        what = ", ".join(name if count == 1 else f"{count} {name}" for name, count in ended.most_common())
        rows.append([task, *(f"{item.passes}/{item.answers}" if item else "-" for item in found), what])
    columns = ["task", *(systems if len(systems) > 1 else ["passed"]), "ended"]
    if not usages:
        columns, rows = columns[:-1], [row[:-1] for row in rows]
    return sheet("Answers that pass, by task", columns, rows, numbers=columns[1 : len(systems) + 1], spare=["ended"])


def _by_category(groups: Mapping[str, Mapping[str, Rate]], systems: Sequence[str]) -> Sheet:
    rows = []
    for group, of_systems in groups.items():
        for system, item in of_systems.items():
            interval, cases = "-", "-"
            if item.low is not None and item.high is not None and item.cases is not None:
                interval, cases = f"{item.low:.0%} to {item.high:.0%}", f"{item.cases:.1%}"
            share = "-" if item.passed is None else f"{item.passed:.1%}"
            counted = f"{item.passed_with_unanswered:.1%}" if item.unanswered else ""
            rows.append([group, system, item.tasks, f"{item.passes}/{item.answers}", share, interval, cases, counted])
    columns = ["category", "system", "tasks", "answers", "passed", "interval", "cases", "unanswered as wrong"]
    kept = [True, len(systems) > 1, *[True] * 5, any(row[-1] for row in rows)]
    return sheet(
        "Share of answers that pass, with 95% Wilson intervals over tasks",
        [name for name, keep in zip(columns, kept, strict=True) if keep],
        [[value for value, keep in zip(row, kept, strict=True) if keep] for row in rows],
        numbers=columns[2:],
        spare=[name for name in ("tasks", "cases", "answers") if name in columns],
        totals=len(groups.get("all", ())),
    )


def _failures(grades: Sequence[Grade]) -> list[Sheet]:
    from lmrbench.analysis.report import failures

    rows = [
        [item.system, item.verdict, item.answers, item.example.task, in_one_line(item.example.reason)]
        for item in failures(grades)
    ]
    columns = ["system", "first failure", "answers", "for example", "reason"]
    return [sheet("Answers that fail, by kind", columns, rows, numbers=["answers"], spare=["system"])] if rows else []


def _endings(usages: Sequence[Usage]) -> list[Sheet]:
    """How answers ended, and whose failure it was that there is none."""
    from lmrbench.analysis.grouping import grouped
    from lmrbench.grading.records import UNANSWERED

    found = []
    ways = grouped(usages, lambda item: (item.status in UNANSWERED, item.system, item.status))
    for machinery, title in (
        (False, "How answers ended"),
        (True, "Left unanswered by the provider, the agent's program or this machine; in no rate"),
    ):
        rows = [
            [system, status.replace("_", " "), len(items), in_one_line(next((x.detail for x in items if x.detail), ""))]
            for (apart, system, status), items in ways.items()
            if apart == machinery
        ]
        columns = ["system", "ended", "answers", "for example"]
        found += [sheet(title, columns, rows, numbers=["answers"], spare=["system"])] if rows else []
    return found
