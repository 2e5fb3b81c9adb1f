"""Reports: all measures of some findings, each computed once for all output formats."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from lmrbench.report.findings import Findings, by_group, by_suite
from lmrbench.report.measures import measured
from lmrbench.text import counted

if TYPE_CHECKING:
    from lmrbench.report.render.tables import Sheet


@dataclass(frozen=True)
class ReportPart:
    """The measures of one group of tasks and systems of one suite.

    Attributes:
        where: Text that distinguishes the part from the others; empty for the only one.
        findings: The results that the part is computed over.
        numbers: See `Measured`.
    """

    where: str
    findings: Findings
    numbers: Mapping[str, Any]


@dataclass(frozen=True)
class Report:
    """All measures of some findings.

    Attributes:
        findings: The results that were measured.
        parts: One for each group of each suite, at least one; the headline tier first.
        sheets: All tables.
        numbers: The JSON report, as records, lists and mappings.
    """

    findings: Findings
    parts: tuple[ReportPart, ...]
    sheets: tuple[Sheet, ...]
    numbers: Mapping[str, Any]

    @property
    def not_submitted(self) -> tuple[str, ...]:
        """A sentence for each system and part in which the system did not answer all tasks."""
        return tuple(
            f"{system}{part.where}: nothing submitted for {len(tasks)} of {expected}"
            for part in self.parts
            for expected in [counted(len(part.findings.expected), "task")]
            for system, tasks in part.findings.not_submitted.items()
        )


def build(findings: Findings) -> Report:
    """Compute the report of some findings.

    Args:
        findings: The results of one or more runs.

    Returns:
        The report, with a separate part for each group of each suite.
    """
    suites = by_suite(findings)
    several = len(suites) > 1
    if not several:
        # Filtering by suite would drop labels of tasks with neither a grade nor a usage, whose suite is unknown.
        suites = {"": findings}
    parts: list[ReportPart] = []
    sheets: list[Sheet] = []
    of_suites: dict[str, Any] = {}
    for suite, its in suites.items():
        label = f", {suite}" if several else ""
        its_parts, its_sheets, of_suites[suite] = _of_suite(its, label)
        parts += its_parts
        sheets += _labelled(its_sheets, suite, suite) if several else its_sheets
    numbers: dict[str, Any] = {"runs": list(map(str, findings.folders))}
    if several:
        whole = measured(findings, "report")
        numbers |= {"suites": of_suites, **whole.numbers}
        sheets += whole.sheets
    else:
        numbers |= next(iter(of_suites.values()))
    return Report(findings, tuple(parts), tuple(sheets), numbers)


def _of_suite(findings: Findings, label: str) -> tuple[list[ReportPart], list[Sheet], dict[str, Any]]:
    """Return the parts, tables and JSON of one suite."""
    groups = by_group(findings)
    several = len(groups) > 1
    if not several:
        groups = dict.fromkeys(groups, findings)
    parts: list[ReportPart] = []
    sheets: list[Sheet] = []
    numbers: dict[str, Any] = {}
    for group, its in groups.items():
        found = measured(its, "tier")
        where = f"{label}, {group.title}" if several else label
        parts.append(ReportPart(where, its, found.numbers))
        sheets += _labelled(found.sheets, group.title, str(group)) if several else found.sheets
        numbers[str(group)] = {
            **found.numbers,
            "not_submitted": its.not_submitted,
            "grades": its.grades,
            "usage": its.usages,
            "progress": its.snapshots,
        }
    if not several:
        return parts, sheets, {"tier": next(iter(groups)).tier, **next(iter(numbers.values()))}
    whole = measured(findings, "suite")
    return parts, [*sheets, *whole.sheets], {"tiers": numbers, **whole.numbers}


def _labelled(sheets: Iterable[Sheet], title: str, name: str) -> list[Sheet]:
    return [replace(item, title=f"{title}: {item.title}", name=f"{name}-{item.name}") for item in sheets]
