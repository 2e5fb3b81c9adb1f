"""Progress of traced agents: effort before and after the first correct state, and answers that were spoiled later.

An agent is traced if the state of its code was graded after each turn, during the run. Each grade is stored as a
snapshot. Unanswered samples have no snapshots.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean, median
from typing import TYPE_CHECKING

from lmrbench.records import Record, grouped
from lmrbench.report.measures import Measured, measure
from lmrbench.report.render.cells import UNDEFINED, dollars, minutes, number, passes, tokens
from lmrbench.report.render.tables import Sheet, sheet
from lmrbench.runs.records import Snapshot

if TYPE_CHECKING:
    from lmrbench.report.findings import Findings


class Spent(Record):
    """Median spending on several answers. `dollars` is None if the cost of any answer is unknown."""

    turns: float
    tool_calls: float
    input_tokens: float
    output_tokens: float
    minutes: float
    dollars: float | None


class FirstRight(Record):
    """The traced answers of one system, and their effort before and after the first correct state.

    Attributes:
        answers: The number of traced answers.
        passes: The number of answers that are correct at the end.
        spoiled: The number of answers that were correct after some turn but not at the end.
        until: Spending on the passing answers up to their first correct state; None if no answer passes.
        after: Spending on the passing answers after that state; None if no answer passes.
    """

    answers: int
    passes: int
    spoiled: int
    until: Spent | None
    after: Spent | None


def first_right(snapshots: Iterable[Snapshot]) -> dict[str, FirstRight]:
    """Return the effort of each system on its traced answers, before and after their first correct state."""
    found = {}
    for system, items in grouped(snapshots, lambda item: item.system).items():
        answers = _answers(items)
        right = [(first, items[-1]) for items in answers if (first := _first_right(items)) is not None]
        passing = [(first, last) for first, last in right if last.correct]
        found[system] = FirstRight(
            answers=len(answers),
            passes=len(passing),
            spoiled=len(right) - len(passing),
            until=_medians([(None, first) for first, _ in passing]),
            after=_medians(passing),
        )
    return found


def curves(snapshots: Iterable[Snapshot]) -> dict[str, list[float]]:
    """Return the share of cases that match after turns 0, 1, ..., as a mean over tasks, by system.

    The initial workspace counts as turn 0. An answer with fewer turns keeps its last share for the remaining turns.
    """
    found = {}
    for system, items in grouped(snapshots, lambda item: item.system).items():
        of_tasks = grouped(_answers(items), lambda answer: answer[0].task).values()
        found[system] = [
            fmean(fmean(_share(answer, turn) for answer in answers) for answers in of_tasks)
            for turn in range(max(item.turn for item in items) + 1)
        ]
    return found


def _answers(snapshots: Iterable[Snapshot]) -> list[list[Snapshot]]:
    """Return the snapshots of each answer of one system, sorted by turn."""
    of_answers = grouped(snapshots, lambda item: (item.task, item.sample)).values()
    return [sorted(items, key=lambda item: item.turn) for items in of_answers]


def _first_right(answer: Sequence[Snapshot]) -> Snapshot | None:
    return next((item for item in answer if item.correct), None)


def _medians(spans: Sequence[tuple[Snapshot | None, Snapshot]]) -> Spent | None:
    """Return the median spending between two snapshots of each answer, or None if there are no answers.

    If the first snapshot of a pair is None, the spending since the start of the answer counts.
    """
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


def first_right_sheets(found: Mapping[str, FirstRight]) -> list[Sheet]:
    """Return a list with the table of agent effort; the list is empty if no answer was traced."""
    rows = [
        [system, passes(item.passes, item.answers), item.spoiled, part, *_cells(spent)]
        for system, item in found.items()
        for part, spent in (("until right", item.until), ("after that", item.after))
    ]
    columns = ["system", "correct", "spoiled", "spent"]
    columns += ["turns", "tool calls", "tokens in", "tokens out", "minutes", "dollars"]
    table = sheet(
        "Agent effort before and after the first correct state",
        columns,
        rows,
        numbers=[name for name in columns if name not in ("system", "spent")],
        spare=["tokens out", "correct", "tool calls", "tokens in"],
        name="first-right",
        note="Medians over the correct traced answers: the effort up to the turn after which every ordinary case "
        "matched for the first time (until right), and the effort after that turn (after that). Spoiled answers were "
        "correct after some turn but not at the end. An agent is not told when its code is correct, so its later "
        "effort is partly checking and partly waste. The medians exclude answers that are not correct at the end, so "
        "compare only systems with similar numbers of correct answers.",
    )
    return [table] if rows else []


def _cells(spent: Spent | None) -> Sequence[str]:
    if spent is None:
        return [UNDEFINED] * 6
    return [
        number(spent.turns, ".1f"),
        number(spent.tool_calls, ".1f"),
        tokens(spent.input_tokens),
        tokens(spent.output_tokens),
        minutes(spent.minutes),
        dollars(spent.dollars),
    ]


@measure()
def measured_progress(findings: Findings) -> Measured:
    """Measure the progress of traced agents."""
    found = first_right(findings.snapshots)
    return Measured({"first_right": found, "curves": curves(findings.snapshots)}, first_right_sheets(found))
