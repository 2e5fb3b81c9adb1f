"""Counts of samples by their ending, separately for samples with and without an answer.

A sample is one attempt of a system at a task. Its ending is the status in its usage record, such as "answered" or
"provider_error".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from lmrbench.records import grouped
from lmrbench.report.measures import Measured, measure
from lmrbench.report.render.tables import Sheet, in_one_line, sheet
from lmrbench.runs.records import UNANSWERED, AnswerStatus, Usage

if TYPE_CHECKING:
    from lmrbench.report.findings import Findings


def statuses(usages: Iterable[Usage]) -> dict[str, dict[AnswerStatus, int]]:
    """Count the samples of each system by their ending, the most frequent ending first."""
    return {
        system: dict(Counter(item.status for item in items).most_common())
        for system, items in grouped(usages, lambda item: item.system).items()
    }


@measure()
def measured_endings(findings: Findings) -> Measured:
    """Count the samples of each system by their ending, and tabulate those with and without an answer separately."""
    usages = findings.usages
    tables = [
        _table(
            [item for item in usages if item.status not in UNANSWERED],
            "Endings of answers",
            "endings",
            "The number of answers by ending. An ending does not tell whether an answer is correct: an answer that "
            "is cut short by a limit is graded on the code that existed then.",
        ),
        _table(
            [item for item in usages if item.status in UNANSWERED],
            "Unanswered samples, excluded from all rates",
            "unanswered",
            "The numbers in this table count samples that have no answer because of a fault of the provider, the "
            "agent's program or this machine. Rates exclude these samples, and are final once every sample has "
            "an answer.",
        ),
    ]
    return Measured({"statuses": statuses(usages)}, [item for item in tables if item.rows])


def _table(usages: Sequence[Usage], title: str, name: str, note: str) -> Sheet:
    rows = [
        [system, status.replace("_", " "), len(items), in_one_line(next((x.detail for x in items if x.detail), ""))]
        for (system, status), items in grouped(usages, lambda item: (item.system, item.status)).items()
    ]
    columns = ["system", "ended", "answers", "for example"]
    return sheet(title, columns, rows, numbers=["answers"], spare=["system"], name=name, note=note)
