"""When is an agent's answer first right, what is spent after that, and is it still right at the end?

By the snapshots of traced samples, which hold the verdicts of the run itself. Samples that were left unanswered have
none.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import median

from lmrbench.records import Record, grouped
from lmrbench.runs.records import Snapshot


class Spent(Record):
    """Medians over some answers; dollars are None where the price of any of them is not known."""

    turns: float
    tool_calls: float
    input_tokens: float
    output_tokens: float
    minutes: float
    dollars: float | None


class FirstRight(Record):
    """Of one system: until, after: what the answers that pass took until they were first right, and from then on.

    Both are None where none passes. answers: those that were traced. spoiled: how many had been right after some turn
    and were wrong at the end.
    """

    answers: int
    passes: int
    spoiled: int
    until: Spent | None
    after: Spent | None


def first_right(snapshots: Iterable[Snapshot]) -> dict[str, FirstRight]:
    """What was spent until each system's answers were first right."""
    found = {}
    for system, items in grouped(snapshots, lambda item: item.system).items():
        answers = _answers(items)
        right = [(first, items[-1]) for items in answers if (first := _first_right(items)) is not None]
        passing = [(first, last) for first, last in right if last.passed]
        found[system] = FirstRight(
            answers=len(answers),
            passes=len(passing),
            spoiled=len(right) - len(passing),
            until=_medians([(None, first) for first, _ in passing]),
            after=_medians(passing),
        )
    return found


def curves(snapshots: Iterable[Snapshot]) -> dict[str, list[float]]:
    """By system, the share of cases that match after turn 0, 1, ... up to its last: the mean over tasks.

    A workspace as it was handed out counts as 0, and an answer that has ended stays what it is.
    """
    found = {}
    for system, items in grouped(snapshots, lambda item: item.system).items():
        of_tasks = grouped(_answers(items), lambda answer: answer[0].task).values()
        found[system] = [
            _mean(_mean(_share(answer, turn) for answer in answers) for answers in of_tasks)
            for turn in range(max(item.turn for item in items) + 1)
        ]
    return found


def _answers(snapshots: Iterable[Snapshot]) -> list[list[Snapshot]]:
    """The snapshots of each answer of one system, by turn."""
    of_answers = grouped(snapshots, lambda item: (item.task, item.sample)).values()
    return [sorted(items, key=lambda item: item.turn) for items in of_answers]


def _first_right(answer: Sequence[Snapshot]) -> Snapshot | None:
    return next((item for item in answer if item.passed), None)


def _medians(spans: Sequence[tuple[Snapshot | None, Snapshot]]) -> Spent | None:
    """What was spent between two snapshots each, of which the first may be the beginning; None without any."""
    if not spans:
        return None

    def middle(name: str) -> float:
        return float(median(getattr(end, name) - (getattr(begin, name) if begin else 0) for begin, end in spans))

    priced = all(item.dollars is not None for span in spans for item in span if item is not None)
    return Spent(
        turns=middle("turn"),
        tool_calls=middle("tool_calls"),
        input_tokens=middle("input_tokens"),
        output_tokens=middle("output_tokens"),
        minutes=middle("seconds") / 60,
        dollars=middle("dollars") if priced else None,
    )


def _share(answer: Sequence[Snapshot], turn: int) -> float:
    last = next((item for item in reversed(answer) if item.turn <= turn), None)
    return last.matched / last.cases if last is not None and last.cases else 0.0


def _mean(values: Iterable[float]) -> float:
    items = list(values)
    return sum(items) / len(items)
