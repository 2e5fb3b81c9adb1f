"""Changes found in forensic tasks, by the number of changes in the task.

A forensic task asks a solver to find the changes that were made to a program, given the results that the changed
program logged.
"""

from __future__ import annotations

from collections.abc import Iterable
from statistics import fmean
from typing import TYPE_CHECKING

from lmrbench.grading.records import Grade
from lmrbench.records import Record, grouped
from lmrbench.report.measures import Measured, measure
from lmrbench.report.render.cells import number, percent
from lmrbench.report.render.tables import sheet
from lmrbench.runs.records import Usage
from lmrbench.tasks.tiers.forensic import draw_id

if TYPE_CHECKING:
    from lmrbench.report.findings import Findings


class ChangesFound(Record):
    """The answers of one system to the forensic tasks with the same number of changes.

    Attributes:
        system: The name of the system.
        changes: The number of changes.
        answers: The number of answers.
        passes: The number of correct answers.
        found: The mean share of the changes that an answer finds.
        runs: The mean number of runs of the experiment before a passing answer; None if it is not known.
    """

    system: str
    changes: int
    answers: int
    passes: int
    found: float
    runs: float | None


def changes_found(grades: Iterable[Grade], usages: Iterable[Usage]) -> list[ChangesFound]:
    """Summarize the answers to forensic tasks by system and number of changes. Grades of other tiers are ignored."""
    runs = {item.answer: item.runs for item in usages if item.runs is not None}
    graded = [(draw.count, item) for item in grades if (draw := draw_id(item.task.partition("/")[2]))]
    return [
        ChangesFound(
            system=system,
            changes=changes,
            answers=len(items),
            passes=sum(item.correct for _, item in items),
            found=fmean(item.found or 0.0 for _, item in items),
            runs=_mean(runs[item.answer] for _, item in items if item.correct and item.answer in runs),
        )
        for (system, changes), items in sorted(grouped(graded, lambda pair: (pair[1].system, pair[0])).items())
    ]


def _mean(values: Iterable[int]) -> float | None:
    known = list(values)
    return fmean(known) if known else None


@measure()
def measured_changes(findings: Findings) -> Measured:
    """Measure the changes found in forensic tasks."""
    found = changes_found(findings.grades, findings.usages)
    columns = ["system", "changes", "answers", "correct", "changes found", "runs"]
    table = sheet(
        "Forensic tasks by number of changes",
        columns,
        [
            [
                item.system,
                item.changes,
                item.answers,
                percent(item.passes / item.answers),
                percent(item.found),
                number(item.runs, ".0f"),
            ]
            for item in found
        ],
        numbers=columns[1:],
        name="changes-found",
        note="An answer passes if it reproduces all metrics of the changed program. In other answers, a change counts "
        "as found if the answer contains it word for word, so the share is a lower bound. The column 'runs' gives "
        "the mean number of runs of replay.py before a passing answer.",
    )
    return Measured({"changes_found": found}, [table] if found else [])
