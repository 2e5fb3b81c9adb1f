"""Build a report: compute every measure once, for all output formats."""

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
    """The measures of one group of one suite.

    A group is a tier (a kind of task) or, in the method tier, a tier and a setting (prompt or agent).

    Attributes:
        where: A suffix for titles, such as ", method tier". It names the suite if there are several suites, and
            the group if the suite has several groups. It is empty for the only part of a report.
        findings: The results of this part.
        numbers: The numbers of all measures; see `Measured.numbers`.
    """

    where: str
    findings: Findings
    numbers: Mapping[str, Any]


@dataclass(frozen=True)
class Report:
    """All measures of the results of one or more runs.

    Attributes:
        findings: The results.
        parts: One part for each group of each suite, the headline tier first; at least one.
        sheets: All tables.
        numbers: The content of the JSON report, as records, lists and mappings.
    """

    findings: Findings
    parts: tuple[ReportPart, ...]
    sheets: tuple[Sheet, ...]
    numbers: Mapping[str, Any]

    @property
    def not_submitted(self) -> tuple[str, ...]:
        """A line for each part and each system that answered only some tasks of the part."""
        return tuple(
            f"{system}{part.where}: nothing submitted for {len(tasks)} of {expected}"
            for part in self.parts
            for expected in [counted(len(part.findings.expected), "task")]
            for system, tasks in part.findings.not_submitted.items()
        )


def build(findings: Findings) -> Report:
    """Build a report on the results of one or more runs.

    Args:
        findings: The results.

    Returns:
        The report, with a separate part for each group of each suite.
    """
    suites = by_suite(findings)
    several = len(suites) > 1
    if not several:
        # Use all findings: `by_suite` leaves out the labels of a task with neither a grade nor a usage record, because
        # the suite of such a task is not known.
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
    """Return the parts, the tables and the JSON content of one suite."""
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
