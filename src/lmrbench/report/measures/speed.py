"""How fast are the answers of a system that pass, and how much memory do they take, beside the golden?"""

from __future__ import annotations

import math
from collections.abc import Iterable
from statistics import fmean

from lmrbench.grading.records import Grade, Ratio
from lmrbench.records import Record, grouped
from lmrbench.report.statistics import Estimate, estimate


class Speeds(Record):
    """Of one system: geometric means over tasks, each task's being that of its answers, with intervals over papers.

    speed, memory: what the golden took over what the answers took; None where no answer has a speed. answers: those
    that have one, on so many tasks. void: answers that were timed and have none.
    """

    tasks: int
    answers: int
    void: int
    speed: Estimate | None
    memory: Estimate | None


def speeds(grades: Iterable[Grade]) -> dict[str, Speeds]:
    """The speeds of each system of which an answer was timed. Answers that were not timed are not counted."""
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
