"""What does an answer that passes cost, once those that fail are counted in?"""

from __future__ import annotations

from collections.abc import Iterable

from lmrbench.grading.records import Grade
from lmrbench.records import Record, grouped
from lmrbench.runs.records import Usage


class Effort(Record):
    """Of one system: all that its answers took, divided by the number of those that pass.

    With one answer per task this is the effort per solved task. answers: those that have a usage and a grade. Where
    none passes, what one takes is not defined, and None; dollars are None too where the price of any answer is not
    known. dollars_per_answer: the same sum, divided by all answers.
    """

    answers: int
    passes: int
    dollars_per_answer: float | None
    dollars: float | None
    input_tokens: float | None
    output_tokens: float | None
    calls: float | None
    minutes: float | None


def effort(grades: Iterable[Grade], usages: Iterable[Usage]) -> dict[str, Effort]:
    """The effort per answer that passes, of each system that has usages with a grade.

    Samples that the machinery left unanswered have no grade and are not counted, nor are answers of which no usage was
    written.
    """
    passed = {(item.system, item.task, item.sample): item.passed for item in grades}
    graded = [item for item in usages if (item.system, item.task, item.sample) in passed]
    found = {}
    for system, items in grouped(graded, lambda item: item.system).items():
        passes = sum(passed[item.system, item.task, item.sample] for item in items)
        found[system] = Effort(
            answers=len(items),
            passes=passes,
            dollars_per_answer=_each((item.dollars for item in items), len(items)),
            dollars=_each((item.dollars for item in items), passes),
            input_tokens=_each((item.input_tokens for item in items), passes),
            output_tokens=_each((item.output_tokens for item in items), passes),
            calls=_each((item.calls for item in items), passes),
            minutes=_each((item.seconds / 60 for item in items), passes),
        )
    return found


def _each(values: Iterable[float | None], count: int) -> float | None:
    """Their sum divided by a count; None where one is not known, for the sum of the others would be too small."""
    total = 0.0
    for value in values:
        if value is None:
            return None
        total += value
    return total / count if count else None
