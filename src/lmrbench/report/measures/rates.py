"""Rates of correct and robust answers: over all tasks, by category and by task, with intervals.

An answer is correct if it matches the reference in all ordinary cases, and robust if it also matches in all edge cases.
A sample (one attempt of a system at a task) is unanswered if a fault of the provider or the machine left it without an
answer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from statistics import fmean
from typing import TYPE_CHECKING

from lmrbench.grading.records import Grade
from lmrbench.records import Record, grouped
from lmrbench.report.measures import Measured, measure
from lmrbench.report.render.cells import NumberedText, counted_answers, percent, span
from lmrbench.report.render.tables import Sheet, sheet
from lmrbench.report.statistics import paper_interval, wilson_interval
from lmrbench.resampling import paper_of
from lmrbench.runs.records import UNANSWERED, Usage

if TYPE_CHECKING:
    from lmrbench.report.findings import Findings


class Rate(Record):
    """The mean over tasks of the share of answers that are correct, with two 95% intervals.

    The rates, the intervals and the share of cases are None if there is no answer. Unanswered samples count only in
    the last three attributes.

    Attributes:
        tasks: The number of tasks that have an answer.
        papers: The number of papers of these tasks.
        answers: The number of graded answers.
        passes: The number of correct answers.
        correct: The mean over tasks of the share of correct answers.
        robust: The mean over tasks of the share of robust answers.
        low: Lower end of Wilson's interval, which treats tasks as independent. Its sample size is the number of tasks,
            because more answers to the same task say nothing about other tasks.
        high: Upper end of Wilson's interval.
        paper_low: Lower end of the interval from resampled papers (see `paper_interval`); None if it is not defined.
        paper_high: Upper end of this interval; None if it is not defined.
        cases: The mean over tasks of the share of cases that match.
        unanswered: The number of unanswered samples.
        correct_with_unanswered: The rate `correct` if all unanswered samples were wrong.
        correct_with_unanswered_right: The rate `correct` if all unanswered samples were right.
    """

    tasks: int
    papers: int
    answers: int
    passes: int
    correct: float | None
    robust: float | None
    low: float | None
    high: float | None
    paper_low: float | None
    paper_high: float | None
    cases: float | None
    unanswered: int
    correct_with_unanswered: float
    correct_with_unanswered_right: float

    @property
    def is_pooled(self) -> bool:
        """Whether the mean over tasks equals the share of all answers that are correct."""
        return self.correct is not None and abs(self.correct - self.passes / self.answers) < 1e-9


def rate(grades: Iterable[Grade], unanswered: Iterable[Usage] = ()) -> Rate:
    """Return the rate of one system over some tasks.

    Args:
        grades: The graded answers of the system.
        unanswered: The unanswered samples of the system.
    """
    of_tasks = grouped(grades, lambda item: item.task)
    missing = Counter(item.task for item in unanswered)
    outcomes = {task: [float(item.correct) for item in items] for task, items in of_tasks.items()}
    shares = {task: fmean(values) for task, values in outcomes.items()}
    correct = fmean(shares.values()) if shares else None
    low, high = (None, None) if correct is None else wilson_interval(correct, len(shares))
    paper_low, paper_high = paper_interval(shares) or (None, None)
    return Rate(
        tasks=len(shares),
        papers=len(set(map(paper_of, shares))),
        answers=sum(map(len, outcomes.values())),
        passes=int(sum(map(sum, outcomes.values()))),
        correct=correct,
        robust=fmean(fmean(item.robust for item in items) for items in of_tasks.values()) if of_tasks else None,
        low=low,
        high=high,
        paper_low=paper_low,
        paper_high=paper_high,
        cases=fmean(fmean(map(_share, items)) for items in of_tasks.values()) if of_tasks else None,
        unanswered=missing.total(),
        correct_with_unanswered=_counting(outcomes, missing, 0.0),
        correct_with_unanswered_right=_counting(outcomes, missing, 1.0),
    )


def rates(grades: Iterable[Grade], usages: Iterable[Usage], group: Callable[[str], str]) -> dict[str, dict[str, Rate]]:
    """Return rates by group of tasks, then by system, both in the order in which they first occur.

    Args:
        grades: Graded answers of any systems.
        usages: Samples of any systems; only unanswered ones count.
        group: A function that returns the group of a task id.
    """
    results: list[Grade | Usage] = [*grades, *(item for item in usages if item.status in UNANSWERED)]
    return {
        name: {
            system: rate(
                [item for item in items if isinstance(item, Grade)],
                [item for item in items if isinstance(item, Usage)],
            )
            for system, items in grouped(members, lambda item: item.system).items()
        }
        for name, members in grouped(results, lambda item: group(item.task)).items()
    }


def _counting(outcomes: Mapping[str, list[float]], missing: Mapping[str, int], value: float) -> float:
    """Return the rate that would result if each missing sample counted as `value`."""
    tasks = sorted(outcomes.keys() | missing.keys())
    return fmean(fmean(outcomes.get(task, []) + [value] * missing.get(task, 0)) for task in tasks)


def _share(item: Grade) -> float:
    return item.matched / len(item.cases) if item.cases else 0.0


@measure()
def measured_rates(findings: Findings) -> Measured:
    """Measure the rates of all systems, by task, by category and over all tasks."""
    overall = rates(findings.grades, findings.usages, lambda task: "all")
    groups = rates(findings.grades, findings.usages, findings.categories.__getitem__)
    numbers = {"rates": overall | groups}
    if not findings.grades:
        return Measured(numbers)
    expected = len(findings.expected)
    by_category = _by_category(dict(sorted(groups.items())), overall["all"], expected)
    return Measured(numbers, [_by_task(findings), by_category, _intervals(overall["all"], expected)])


def _by_task(findings: Findings) -> Sheet:
    by_task = rates(findings.grades, findings.usages, lambda task: task)
    systems = list(dict.fromkeys(system for of_systems in by_task.values() for system in of_systems))
    usages = grouped(findings.usages, lambda item: item.task)
    rows = []
    for task, of_systems in sorted(by_task.items()):
        ended = Counter(item.status.replace("_", " ") for item in usages.get(task, ()))
        endings = ", ".join(name if count == 1 else f"{count} {name}" for name, count in ended.most_common())
        rows.append([task, *(_of_task(of_systems.get(system)) for system in systems), endings])
    columns = ["task", *(systems if len(systems) > 1 else ["correct"]), "ended"]
    if not usages:
        columns, rows = columns[:-1], [row[:-1] for row in rows]
    return sheet(
        "Correct answers by task",
        columns,
        rows,
        numbers=columns[1 : len(systems) + 1],
        spare=["ended"] if usages else (),
        name="by-task",
        by_system=True,
        note="The number of correct answers to each task out of all graded answers; a dash means that no answer was "
        "graded. A single answer to a task says little about how often the system would pass it.",
    )


def _of_task(found: Rate | None) -> NumberedText:
    numbers = {" passes": found.passes, " answers": found.answers} if found else {}
    return NumberedText(f"{found.passes}/{found.answers}" if found and found.answers else "-", numbers)


def of_listed(tasks: int, listed: int) -> NumberedText:
    """Format a number of tasks: for example "20 of 28" if the suite lists more tasks, or else "28"."""
    return NumberedText(f"{tasks} of {listed}" if tasks < listed else str(tasks), {"": tasks})


def _by_category(groups: Mapping[str, Mapping[str, Rate]], overall: Mapping[str, Rate], listed: int) -> Sheet:
    rows = [
        [
            group,
            system,
            of_listed(item.tasks, listed if of_systems is overall else 0),
            counted_answers(item),
            percent(item.correct, "-"),
            span(item.low, item.high) if item.answers else "-",
            percent(item.robust, "-"),
            percent(item.cases, "-"),
            percent(item.correct_with_unanswered) if item.unanswered else "",
        ]
        for group, of_systems in [*groups.items(), ("all", overall)]
        for system, item in of_systems.items()
    ]
    columns = [
        "category",
        "system",
        "tasks",
        "answers",
        "correct",
        "interval",
        "robust",
        "cases",
        "unanswered as wrong",
    ]
    kept = [True, len(overall) > 1, *[True] * 6, any(row[-1] for row in rows)]
    return sheet(
        "Correct answers by category, with 95% Wilson intervals over tasks",
        [name for name, keep in zip(columns, kept, strict=True) if keep],
        [[value for value, keep in zip(row, kept, strict=True) if keep] for row in rows],
        numbers=columns[2:],
        spare=["tasks", "cases", "answers"],
        totals=len(overall),
        name="by-category",
        note="Correct is the mean over tasks of the share of answers that match in all ordinary cases; robust is the "
        "same for answers that match in the edge cases too. The column 'answers' gives the number of graded answers, "
        "preceded by the number of correct ones if their share equals the rate. The column 'cases' gives the mean "
        "share of cases that match; matching cases give no partial credit. Categories have few tasks, so their "
        "intervals are wide, and most differences between categories may be due to chance.",
    )


def _intervals(of_systems: Mapping[str, Rate], listed: int) -> Sheet:
    """Return the table of both intervals, and of the effect that unanswered samples could have."""
    rows: list[list[object]] = [
        [
            system,
            of_listed(item.tasks, listed),
            item.papers,
            percent(item.correct),
            span(item.low, item.high),
            span(item.paper_low, item.paper_high),
            percent(item.robust),
            item.unanswered or "",
            percent(item.correct_with_unanswered) if item.unanswered else "",
            percent(item.correct_with_unanswered_right) if item.unanswered else "",
        ]
        for system, item in of_systems.items()
    ]
    columns = [
        "system",
        "tasks",
        "papers",
        "correct",
        "over tasks",
        "over papers",
        "robust",
        "unanswered",
        "if wrong",
        "if right",
    ]
    note = (
        "Two 95% intervals of the share of correct answers. The interval over tasks (Wilson) treats tasks as "
        "independent. The interval over papers draws whole papers, because tasks of one paper are alike; it is not "
        "defined for a single paper or if all tasks have the same rate, and it is too narrow if there are few papers. "
        "Both intervals account for the choice of tasks; neither accounts for another prompt, another sandbox or "
        "another version of the model."
    )
    if any(row[-1] for row in rows):
        note += " The last two columns are the rates that would result if all unanswered samples were wrong, or right."
    else:
        columns, rows = columns[:-3], [row[:-3] for row in rows]
    return sheet(
        "Correct answers, with 95% intervals over tasks and over papers",
        columns,
        rows,
        numbers=columns[1:],
        spare=[name for name in ("unanswered", "tasks", "papers") if name in columns],
        name="intervals",
        note=note,
    )
