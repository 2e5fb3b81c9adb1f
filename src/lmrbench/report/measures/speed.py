"""Speed and memory of passing answers, relative to the reference (the complete, correct code of the task)."""

from __future__ import annotations

import math
from collections.abc import Iterable
from statistics import fmean
from typing import TYPE_CHECKING

from lmrbench.grading.records import Grade, Ratio
from lmrbench.records import Record, grouped
from lmrbench.report.measures import Measured, measure
from lmrbench.report.render.cells import UNDEFINED, NumberedText, number
from lmrbench.report.render.tables import sheet
from lmrbench.report.statistics import Estimate, estimate

if TYPE_CHECKING:
    from lmrbench.report.findings import Findings


class Speeds(Record):
    """Speed and memory of the passing answers of one system, relative to the reference.

    The values are geometric means over tasks. The value of a task is the geometric mean over its answers.

    Attributes:
        tasks: The number of tasks with an answer that has a speed.
        answers: The number of answers that have a speed.
        void: The number of answers that were timed but have no speed, for example because they are wrong on the timed
            inputs.
        speed: The reference's time divided by the answers' time; None if no answer has a speed.
        memory: The reference's memory divided by the answers' memory; None if no answer has a speed.
    """

    tasks: int
    answers: int
    void: int
    speed: Estimate | None
    memory: Estimate | None


def speeds(grades: Iterable[Grade]) -> dict[str, Speeds]:
    """Return the speeds of each system that has timed answers. Answers that were not timed are ignored."""
    found = {}
    timed = [(item, item.timing) for item in grades if item.timing is not None]
    for system, items in grouped(timed, lambda item: item[0].system).items():
        measured = [grade.task for grade, timing in items if timing.speed is not None]
        found[system] = Speeds(
            tasks=len(set(measured)),
            answers=len(measured),
            void=len(items) - len(measured),
            speed=_mean((grade.task, timing.speed) for grade, timing in items),
            memory=_mean((grade.task, timing.memory) for grade, timing in items),
        )
    return found


def _mean(ratios: Iterable[tuple[str, Ratio | None]]) -> Estimate | None:
    logarithms = [(task, math.log(ratio.median)) for task, ratio in ratios if ratio is not None]
    if not logarithms:
        return None
    of_tasks = grouped(logarithms, lambda item: item[0])
    found = estimate({task: fmean(value for _, value in items) for task, items in of_tasks.items()})
    low, high = (None if end is None else math.exp(end) for end in (found.low, found.high))
    return Estimate(mean=math.exp(found.mean), low=low, high=high)


@measure()
def measured_speeds(findings: Findings) -> Measured:
    """Measure the speeds of timed answers."""
    found = speeds(findings.grades)
    rows = [
        [system, item.tasks, item.answers, *_cells(item.speed), *_cells(item.memory), item.void or ""]
        for system, item in found.items()
    ]
    columns = ["system", "tasks", "answers", "speed", "over papers", "memory", "memory over papers", "no speed"]
    if not any(row[-1] for row in rows):
        columns, rows = columns[:-1], [row[:-1] for row in rows]
    table = sheet(
        "Speed and memory of passing answers relative to the reference",
        columns,
        rows,
        numbers=columns[1:],
        spare=["memory over papers", "no speed", "answers", "over papers"],
        name="speed",
        note="A value above 1 means that answers are faster than the reference or take less memory. The values are "
        "geometric means over tasks, and over the answers to each task, with 95% intervals over papers. Only passing "
        "answers are timed, so two systems may be timed on different tasks. The reference is written to be read, not "
        "to be fast. The column 'no speed' gives the number of answers that are wrong, or take too much time or "
        "memory, on timed inputs; the means exclude these answers.",
    )
    return Measured({"speeds": found}, [table] if found else [])


def _cells(value: Estimate | None) -> tuple[NumberedText, NumberedText]:
    mean, low, high = (value.mean, value.low, value.high) if value is not None else (None, None, None)
    interval = UNDEFINED if low is None or high is None else f"{low:.3g} to {high:.3g}"
    return number(mean, ".3g"), NumberedText(interval, {" low": low, " high": high})
