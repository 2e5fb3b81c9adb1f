"""Rates by the date on which the tasks' methods became public: by month, and before and since a cutoff.

The user sets the cutoff, for example the end of a model's training data.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date
from statistics import fmean
from typing import TYPE_CHECKING, Any, Literal

from lmrbench.grading.records import Grade
from lmrbench.records import Record, grouped
from lmrbench.report.measures import Measured, measure
from lmrbench.report.measures.rates import Rate, rates
from lmrbench.report.render.cells import UNDEFINED, NumberedText, number, percent, points, span
from lmrbench.report.render.tables import Sheet, sheet
from lmrbench.report.statistics import Estimate, estimate, group_difference
from lmrbench.resampling import paper_of

if TYPE_CHECKING:
    from lmrbench.report.findings import Findings

Counted = Literal["correct", "robust"]


class Side(Record):
    """A rate on one side of a cutoff.

    Attributes:
        tasks: The number of tasks.
        papers: The number of papers of these tasks.
        rate: The mean over tasks, with an interval from resampled papers.
    """

    tasks: int
    papers: int
    rate: Estimate


class Split(Record):
    """A rate of one system before and since a cutoff.

    Attributes:
        group: The category of the tasks, or "all".
        system: The name of the system.
        answers: Whether the rate is that of correct or of robust answers.
        before: The rate over tasks with a date before the cutoff; None if there are none.
        since: The rate over tasks with the date of the cutoff or a later one; None if there are none.
        difference: The rate since the cutoff minus the rate before it, with an interval from resampled papers; None
            if a side has no tasks.
    """

    group: str
    system: str
    answers: Counted
    before: Side | None
    since: Side | None
    difference: Estimate | None


def by_month(findings: Findings) -> dict[str, dict[str, Rate]]:
    """Return the rates by month (YYYY-MM, sorted) and system. Tasks without a date are left out."""
    dated = findings.dates
    found = rates(
        [item for item in findings.grades if item.task in dated],
        [item for item in findings.usages if item.task in dated],
        lambda task: f"{dated[task]:%Y-%m}",
    )
    return dict(sorted(found.items()))


def splits(findings: Findings, cutoff: date) -> list[Split]:
    """Return the rates before and since a cutoff, by category and over all tasks. Undated tasks are left out."""
    grades = [item for item in findings.grades if item.task in findings.dates]
    groups = grouped(grades, lambda item: findings.categories[item.task])
    return [
        split
        for group, members in [*sorted(groups.items()), ("all", grades)]
        for system, items in grouped(members, lambda item: item.system).items()
        for split in _split(group, system, items, findings.dates, cutoff)
    ]


def _split(group: str, system: str, grades: list[Grade], dates: Mapping[str, date], cutoff: date) -> Iterator[Split]:
    of_tasks = grouped(grades, lambda item: item.task)
    shares: dict[Counted, dict[str, float]] = {
        "correct": {task: fmean(item.correct for item in items) for task, items in of_tasks.items()},
        "robust": {task: fmean(item.robust for item in items) for task, items in of_tasks.items()},
    }
    for name, values in shares.items():
        before = {task: share for task, share in values.items() if dates[task] < cutoff}
        since = {task: share for task, share in values.items() if dates[task] >= cutoff}
        yield Split(
            group=group,
            system=system,
            answers=name,
            before=_side(before),
            since=_side(since),
            difference=group_difference(before, since) if before and since else None,
        )


def _side(shares: Mapping[str, float]) -> Side | None:
    if not shares:
        return None
    return Side(tasks=len(shares), papers=len(set(map(paper_of, shares))), rate=estimate(shares))


@measure()
def measured_dates(findings: Findings) -> Measured:
    """Measure the rates by month and, if there is a cutoff, before and since it."""
    numbers: dict[str, Any] = {"months": by_month(findings), "cutoff": findings.cutoff, "splits": []}
    if findings.cutoff is None:
        return Measured(numbers)
    found = splits(findings, findings.cutoff)
    return Measured({**numbers, "splits": found}, [split_sheet(found, findings.cutoff)] if found else [])


def split_sheet(found: list[Split], cutoff: date) -> Sheet:
    """Return the table of rates before and since a cutoff."""
    columns = [
        "category",
        "system",
        "answers",
        "before",
        "since",
        "difference",
        "interval",
        "tasks before",
        "tasks since",
        "interval before",
        "interval since",
    ]
    rows = [
        [
            item.group,
            item.system,
            item.answers,
            _rate(item.before),
            _rate(item.since),
            number(None if item.difference is None else 100 * item.difference.mean, "+.1f"),
            points(item.difference),
            _tasks(item.before),
            _tasks(item.since),
            _interval(item.before),
            _interval(item.since),
        ]
        for item in found
    ]
    return sheet(
        f"Rates before and since {cutoff}, by the date of the task",
        columns,
        rows,
        numbers=columns[3:],
        spare=["tasks before", "tasks since", "interval before", "interval since"],
        totals=sum(item.group == "all" for item in found),
        name="dates",
        note="The date of a task is the day on which its method became public, in the paper or in a released package; "
        "if only the month is known, its first day counts. The difference, in percentage points, is the rate since the "
        "cutoff minus the rate before it. All intervals are 95% intervals over papers; the interval of the difference "
        "draws the papers of both sides independently, and is not defined if a side has only one paper or the same "
        "rate on all of its tasks. Newer and older methods differ in more than their dates, so a lower rate since the "
        "cutoff of a model's training data does not show that the model recalls older code, and an equal rate does not "
        "rule this out.",
    )


def _rate(side: Side | None) -> NumberedText:
    return percent(None if side is None else side.rate.mean, "-")


def _tasks(side: Side | None) -> NumberedText:
    tasks, papers = (side.tasks, side.papers) if side else (0, 0)
    text = str(tasks) if tasks == papers else f"{tasks} of {papers} papers"
    return NumberedText(text, {"": tasks, " papers": papers})


def _interval(side: Side | None) -> NumberedText:
    if side is None:
        return NumberedText(UNDEFINED, {" low": None, " high": None})
    return span(side.rate.low, side.rate.high)
