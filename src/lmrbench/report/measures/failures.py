"""Failing answers, by the verdict on their first failed case."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from lmrbench.grading.records import Grade, Verdict
from lmrbench.records import Record, grouped
from lmrbench.report.measures import Measured, measure
from lmrbench.report.render.tables import in_one_line, sheet

if TYPE_CHECKING:
    from lmrbench.report.findings import Findings


class Example(Record):
    """A failing answer, with the reason for the verdict on its first failed case."""

    task: str
    sample: int
    reason: str


class Failures(Record):
    """The answers of one system whose first failed cases have the same verdict, with one answer as an example."""

    system: str
    verdict: Verdict
    answers: int
    example: Example


def failures(grades: Iterable[Grade]) -> list[Failures]:
    """Group answers that are not correct by system and by the verdict on the first ordinary case that does not match.

    Returns:
        The groups, the largest first. If the check of a task has no cases, the verdict on its answers is `missing`.
    """
    found = []
    for (system, verdict), items in grouped((item for item in grades if not item.correct), _kind).items():
        first = items[0].first_failure
        reason = f"{first.name or first.case}: {first.reason}" if first else "the check has no cases"
        example = Example(task=items[0].task, sample=items[0].sample, reason=reason)
        found.append(Failures(system=system, verdict=verdict, answers=len(items), example=example))
    return sorted(found, key=lambda item: -item.answers)


def _kind(grade: Grade) -> tuple[str, Verdict]:
    first = grade.first_failure
    return grade.system, first.verdict if first else "missing"


@measure()
def measured_failures(findings: Findings) -> Measured:
    """Count the failing answers by system and first failure."""
    found = failures(findings.grades)
    table = sheet(
        "Failing answers by first failure",
        ["system", "first failure", "answers", "for example", "reason"],
        [
            [item.system, item.verdict, item.answers, item.example.task, in_one_line(item.example.reason)]
            for item in found
        ],
        numbers=["answers"],
        spare=["system"],
        name="failures",
        note="Each answer that is not correct counts once, by the verdict on the first ordinary case that does not "
        "match. The reason is that of the example; other answers with the same verdict may have failed for other "
        "reasons.",
    )
    return Measured({"failures": found}, [table] if found else [])
