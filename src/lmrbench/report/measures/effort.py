"""Spending of systems: the total over all samples, and the spending on graded answers per passing answer.

A sample is one attempt of a system at a task.
"""

from __future__ import annotations

from collections.abc import Iterable
from statistics import fmean
from typing import TYPE_CHECKING

from lmrbench.grading.records import Grade
from lmrbench.records import Record, grouped
from lmrbench.report.measures import Measured, measure
from lmrbench.report.render.cells import UNDEFINED, UNKNOWN, dollars, minutes, number, passes, tokens
from lmrbench.report.render.tables import sheet
from lmrbench.runs.records import Usage

if TYPE_CHECKING:
    from lmrbench.report.findings import Findings


class Spending(Record):
    """The spending of a system on all its samples.

    Attributes:
        input_tokens: Tokens that the model read.
        output_tokens: Tokens that the model wrote.
        dollars: The sum of the known costs of samples; None if no cost is known.
        seconds: The mean number of seconds of work per sample.
    """

    input_tokens: int
    output_tokens: int
    dollars: float | None
    seconds: float


class Effort(Record):
    """The spending of a system on all its graded answers, divided by the number of passing ones.

    With one answer per task, this is the effort per solved task. The quotients, except `dollars_per_answer`, are None
    if no answer passes.

    Attributes:
        answers: The number of answers that have both a usage record and a grade.
        passes: The number of these answers that are correct.
        dollars_per_answer: Dollars per answer, passing or not; None if the cost of any answer is unknown.
        dollars: Dollars per passing answer; also None if the cost of any answer is unknown.
        input_tokens: Tokens read per passing answer.
        output_tokens: Tokens written per passing answer.
        calls: Model calls per passing answer.
        minutes: Minutes of work per passing answer.
    """

    answers: int
    passes: int
    dollars_per_answer: float | None
    dollars: float | None
    input_tokens: float | None
    output_tokens: float | None
    calls: float | None
    minutes: float | None


def costs(usages: Iterable[Usage]) -> dict[str, Spending]:
    """Return the spending of each system on all its samples, unanswered ones included."""
    found = {}
    for system, items in grouped(usages, lambda item: item.system).items():
        known = [item.dollars for item in items if item.dollars is not None]
        found[system] = Spending(
            input_tokens=sum(item.input_tokens for item in items),
            output_tokens=sum(item.output_tokens for item in items),
            dollars=sum(known) if known else None,
            seconds=fmean(item.seconds for item in items),
        )
    return found


def effort(grades: Iterable[Grade], usages: Iterable[Usage]) -> dict[str, Effort]:
    """Return the effort per passing answer of each system that has graded answers with a usage record.

    Only answers with both a grade and a usage record count. Unanswered samples have no grade.
    """
    correct = {item.answer: item.correct for item in grades}
    graded = [item for item in usages if item.answer in correct]
    found = {}
    for system, items in grouped(graded, lambda item: item.system).items():
        passing = sum(correct[item.answer] for item in items)
        found[system] = Effort(
            answers=len(items),
            passes=passing,
            dollars_per_answer=_each((item.dollars for item in items), len(items)),
            dollars=_each((item.dollars for item in items), passing),
            input_tokens=_each((item.input_tokens for item in items), passing),
            output_tokens=_each((item.output_tokens for item in items), passing),
            calls=_each((item.calls for item in items), passing),
            minutes=_each((item.seconds / 60 for item in items), passing),
        )
    return found


def _each(values: Iterable[float | None], count: int) -> float | None:
    """Return the sum of the values divided by a count, or None if a value is unknown or the count is 0."""
    total = 0.0
    for value in values:
        if value is None:
            return None
        total += value
    return total / count if count else None


@measure()
def measured_effort(findings: Findings) -> Measured:
    """Measure the spending of systems."""
    found = effort(findings.grades, findings.usages)
    rows = [
        [
            system,
            passes(item.passes, item.answers),
            dollars(item.dollars, UNKNOWN if item.passes else UNDEFINED),
            tokens(item.input_tokens),
            tokens(item.output_tokens),
            number(item.calls, ".1f"),
            minutes(item.minutes),
        ]
        for system, item in found.items()
    ]
    columns = ["system", "correct", "dollars", "tokens in", "tokens out", "calls", "minutes"]
    table = sheet(
        "Cost per passing answer, failures included",
        columns,
        rows,
        numbers=columns[1:],
        spare=["correct", "tokens in", "calls"],
        name="effort",
        note="Dollars, tokens, model calls and minutes of work of all graded answers, divided by the number of passing "
        "answers; with one answer per task, this is the cost per solved task. It is not defined if no answer passes. "
        "Unanswered samples do not count. Dollars are based on the prices on the day of the run. Minutes are the "
        "working time of model and tools, without the time spent waiting for the provider.",
    )
    return Measured({"costs": costs(findings.usages), "effort": found}, [table] if found else [])
