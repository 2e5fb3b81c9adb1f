"""Paired comparisons within a system: original tasks with their twins, and two suites on the papers that they share.

A twin is a task made from an altered version of a paper; its original is the task with the unaltered version.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from lmrbench.grading.records import Grade
from lmrbench.records import Record, grouped
from lmrbench.report.measures import Measured, measure
from lmrbench.report.measures.comparison import (
    COMPARED,
    NUMERIC,
    SPARE,
    Comparison,
    compared,
    comparisons,
    corrected,
)
from lmrbench.report.render.tables import sheet

if TYPE_CHECKING:
    from lmrbench.report.findings import Findings

ORIGINALS, TWINS = "originals", "twins"


class PairedEffect(Record):
    """The comparison of one system under two conditions, which `comparison.first` and `comparison.second` name."""

    system: str
    comparison: Comparison


def memory_effects(grades: Iterable[Grade], originals: Mapping[str, str]) -> list[PairedEffect]:
    """Compare originals with their twins, for each system that answered both tasks of at least one pair.

    Args:
        grades: Graded answers. A task is ignored if the other task of its pair has no answer.
        originals: The id of the original task, by the id of its twin.

    Returns:
        The rate on originals minus the rate on twins, tested as in `comparisons`, with Holm's correction over systems.
        A system that recalls published code instead of reading the task has a higher rate on originals.
    """
    found = []
    for system, items in grouped(grades, lambda item: item.system).items():
        answered = {item.task for item in items}
        pairs = {twin: task for twin, task in originals.items() if {twin, task} <= answered}
        both = [item.model_copy(update={"system": ORIGINALS}) for item in items if item.task in pairs.values()]
        both += [
            item.model_copy(update={"system": TWINS, "task": pairs[item.task]}) for item in items if item.task in pairs
        ]
        if both:
            found.append((system, comparisons(both)[0]))
    return _effects(found)


def repository_effects(
    grades: Iterable[Grade], suites: Mapping[str, str], papers: Mapping[str, str]
) -> list[PairedEffect]:
    """Compare each pair of suites on the papers that both contain, for each system that answered tasks of both.

    Args:
        grades: Graded answers.
        suites: The suite of each task, by task id.
        papers: The name of each task's paper, by task id. A paper has the same name in all suites.

    Returns:
        The rate in the first suite minus the rate in the second, with Holm's correction over systems and pairs of
        suites. The comparison is by paper: the rate of a paper is the mean over all answers to its tasks in one
        suite. If every paper has one answer in each suite, the test is McNemar's; otherwise it is a permutation test
        that flips the sign of each paper's difference.
    """
    found = []
    for system, items in grouped(grades, lambda item: item.system).items():
        answers = [item.model_copy(update={"system": suites[item.task], "task": papers[item.task]}) for item in items]
        found += [(system, item) for item in comparisons(answers) if item.tasks]
    return _effects(found)


def _effects(found: list[tuple[str, Comparison]]) -> list[PairedEffect]:
    fixed = corrected([comparison for _, comparison in found])
    return [PairedEffect(system=system, comparison=item) for (system, _), item in zip(found, fixed, strict=True)]


@measure("suite")
def measured_memory(findings: Findings) -> Measured:
    """Compare originals with their twins, over all tiers of a suite."""
    found = memory_effects(findings.grades, findings.originals)
    table = sheet(
        "Rates on originals minus rates on twins, in percentage points, with Holm's correction over systems",
        ["system", *COMPARED],
        [[item.system, *compared(item.comparison)] for item in found],
        numbers=NUMERIC,
        spare=SPARE,
        name="memory",
        note="A twin is a task whose paper and code differ from those of the original in one decisive point. A system "
        "that recalls published code instead of reading the task does better on originals. Pairs are excluded if "
        "only one of their tasks was answered.",
    )
    return Measured({"memory": found}, [table] if found else [])


@measure("report")
def measured_repositories(findings: Findings) -> Measured:
    """Compare suites on the papers that they share, over the tasks of the headline tier."""
    headline = [item for item in findings.grades if findings.tiers[item.task] == "function"]
    found = repository_effects(headline, findings.suites, findings.papers)
    columns = ["system", "suites", "papers", *COMPARED[1:]]
    table = sheet(
        "Difference in rates between two suites on shared papers, in percentage points, with Holm's correction",
        columns,
        [
            [item.system, f"{item.comparison.first} minus {item.comparison.second}", *compared(item.comparison)]
            for item in found
        ],
        numbers=["papers", *NUMERIC],
        spare=["papers" if name == "tasks" else name for name in SPARE],
        name="repositories",
        note="The rate of a paper in a suite is the mean over all answers to its tasks in that suite. The difference "
        "is the rate in the first suite minus the rate in the second, as a mean over the papers in both suites. Papers "
        "for which a system answered tasks of only one suite are excluded.",
    )
    return Measured({"repositories": found}, [table] if found else [])
