"""Published verdicts of unit tests, compared with the grades of the same answers.

lmrbench did not make these verdicts. They are shown as published, and rates and comparisons of systems leave them out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from lmrbench.grading.records import Grade
from lmrbench.records import Record, grouped
from lmrbench.report.measures import Measured, measure
from lmrbench.report.render.cells import NumberedText, percent
from lmrbench.report.render.tables import Sheet, sheet
from lmrbench.runs.records import PublishedVerdict

if TYPE_CHECKING:
    from lmrbench.report.findings import Findings


class PublishedRate(Record):
    """Counts of the answers of one system by published verdict and by grade.

    Attributes:
        answers: The number of answers with a published verdict.
        passes: The number of answers whose published verdict is a pass.
        graded: The number of answers that have both a published verdict and a grade.
        graded_passes: The number of graded answers that pass the published unit test.
        correct: The number of graded answers that are correct.
        passes_alone: The number of graded answers that pass the published unit test but are not correct.
        correct_alone: The number of graded answers that are correct but fail the published unit test.
    """

    system: str
    answers: int
    passes: int
    graded: int
    graded_passes: int
    correct: int
    passes_alone: int
    correct_alone: int


class BothVerdicts(Record):
    """A published verdict and the grade of the same answer."""

    system: str
    task: str
    sample: int
    passed: bool
    correct: bool


def published_rates(published: Iterable[PublishedVerdict], grades: Iterable[Grade]) -> list[PublishedRate]:
    """Count the answers of each system by published verdict and grade."""
    verdicts = list(published)
    both = grouped(both_verdicts(verdicts, grades), lambda item: item.system)
    found = []
    for system, items in grouped(verdicts, lambda item: item.system).items():
        graded = both.get(system, [])
        found.append(
            PublishedRate(
                system=system,
                answers=len(items),
                passes=sum(item.passed for item in items),
                graded=len(graded),
                graded_passes=sum(item.passed for item in graded),
                correct=sum(item.correct for item in graded),
                passes_alone=sum(item.passed and not item.correct for item in graded),
                correct_alone=sum(item.correct and not item.passed for item in graded),
            )
        )
    return found


def both_verdicts(published: Iterable[PublishedVerdict], grades: Iterable[Grade]) -> list[BothVerdicts]:
    """Return the answers that have both a published verdict and a grade."""
    correct = {item.answer: item.correct for item in grades}
    return [
        BothVerdicts(**item.answer._asdict(), passed=item.passed, correct=correct[item.answer])
        for item in published
        if item.answer in correct
    ]


@measure()
def measured_published(findings: Findings) -> Measured:
    """Compare published verdicts with grades. Without published verdicts, there are no tables."""
    rates = published_rates(findings.published, findings.grades)
    both = both_verdicts(findings.published, findings.grades)
    sheets = [_rates(rates)] if rates else []
    return Measured({"published": {"rates": rates, "both": both}}, [*sheets, _by_task(both)] if both else sheets)


def _rates(found: Sequence[PublishedRate]) -> Sheet:
    again = any(item.graded for item in found)
    columns = ["system", "answers", "passed", "share"]
    numbers = ["graded", "passed there", "correct here", "passed there alone", "correct here alone"]
    rows = [
        [
            item.system,
            item.answers,
            item.passes,
            percent(item.passes / item.answers),
            item.graded,
            item.graded_passes,
            item.correct,
            item.passes_alone,
            item.correct_alone,
        ]
        for item in found
    ]
    columns += numbers if again else []
    return sheet(
        "Published verdicts of unit tests",
        columns,
        [row[: len(columns)] for row in rows],
        numbers=columns[1:],
        spare=["answers"],
        name="published",
        note="Verdicts that others published; lmrbench did not make them, and no other table counts them. The "
        "column 'graded' gives the number of these answers that lmrbench graded as well. The columns after it count "
        "only graded answers. In their names, 'there' means the published verdict, 'here' means the grade by lmrbench, "
        "and 'alone' means that only one of the two accepts the answer.",
    )


def _by_task(found: Sequence[BothVerdicts]) -> Sheet:
    systems = list(dict.fromkeys(item.system for item in found))
    rows = []
    for task, items in sorted(grouped(found, lambda item: item.task).items()):
        own = grouped(items, lambda item: item.system)
        rows.append([task, *(_verdicts(own.get(system, ())) for system in systems)])
    return sheet(
        "Published verdicts and grades by task",
        ["task", *systems],
        rows,
        name="published-by-task",
        by_system=True,
        note="Each cell gives the published verdict on an answer, then its grade by lmrbench. Unit tests and checks "
        "test for different things, so either may be right if they disagree.",
    )


def _verdicts(items: Sequence[BothVerdicts]) -> NumberedText:
    words = [f"{'pass' if item.passed else 'fail'}, {'' if item.correct else 'not '}correct" for item in items]
    numbers = {" published": sum(item.passed for item in items), " correct": sum(item.correct for item in items)}
    return NumberedText("; ".join(words) or "-", numbers if items else {})
