"""Paired comparisons of systems, and the smallest difference that can be detected with their tasks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from statistics import fmean
from typing import TYPE_CHECKING, Literal

from lmrbench.grading.records import Grade
from lmrbench.records import Record, grouped
from lmrbench.report.measures import Measured, measure
from lmrbench.report.render.cells import UNDEFINED, NumberedText, number, p_value, points
from lmrbench.report.render.tables import Sheet, sheet
from lmrbench.report.statistics import (
    ASSUMED_DISCORDANT,
    Estimate,
    detectable_difference,
    estimate,
    holm,
    mcnemar_p,
    sign_flip_p,
)
from lmrbench.resampling import paper_of

if TYPE_CHECKING:
    from lmrbench.report.findings import Findings

PairedTest = Literal["McNemar", "sign-flip"]
# The columns of a comparison, after the columns that name the two sides.
COMPARED = ("tasks", "difference", "interval", "won/lost", "test", "p", "p (Holm)")
NUMERIC = tuple(name for name in COMPARED if name != "test")
SPARE = ("interval", "won/lost", "tasks", "p", "test")


class Comparison(Record):
    """The comparison of two systems on the tasks that both answered.

    Attributes:
        first: The name of the first system.
        second: The name of the second system.
        tasks: The number of tasks that both answered.
        difference: The rate of the first system minus that of the second, with an interval from resampled papers; None
            if they have no task in common.
        wins: The number of tasks on which the first system has the larger share of passing answers.
        losses: The number of tasks on which the second system has the larger share.
        test: The test of the hypothesis that both have the same rate.
        p: The p value of `test`; None if the test is not defined.
        p_holm: The p value after Holm's correction over all pairs that have a p value.
        one_differs: Whether the systems differ on only one of several papers, so that the interval and the test
            are undefined.
    """

    first: str
    second: str
    tasks: int
    difference: Estimate | None
    wins: int
    losses: int
    test: PairedTest
    p: float | None
    p_holm: float | None
    one_differs: bool = False

    @property
    def discordant(self) -> float | None:
        """The share of the common tasks on which the two systems differ; None if there are no common tasks."""
        return (self.wins + self.losses) / self.tasks if self.tasks else None


def comparisons(grades: Iterable[Grade]) -> list[Comparison]:
    """Compare all pairs of systems.

    If both systems have one answer to each common task, the test is McNemar's exact test, which treats tasks as
    independent. Otherwise it is `sign_flip_p`.

    Args:
        grades: Graded answers. Unanswered samples have no grade, so they do not count.

    Returns:
        The pairs in the order in which the systems first occur; empty for a single system.
    """
    answers = {
        system: {
            task: [float(item.correct) for item in of_task]
            for task, of_task in grouped(items, lambda item: item.task).items()
        }
        for system, items in grouped(grades, lambda item: item.system).items()
    }
    return corrected([_compared(first, second, answers) for first, second in combinations(answers, 2)])


def corrected(found: Sequence[Comparison]) -> list[Comparison]:
    """Return the comparisons with `p_holm` set by Holm's correction over all that have a p value."""
    ps = iter(holm([item.p for item in found if item.p is not None]))
    return [item if item.p is None else item.model_copy(update={"p_holm": next(ps)}) for item in found]


def _compared(first: str, second: str, answers: Mapping[str, Mapping[str, Sequence[float]]]) -> Comparison:
    ones, others = answers[first], answers[second]
    common = [task for task in ones if task in others]
    single = all(len(ones[task]) == len(others[task]) == 1 for task in common)
    # Rounding removes float errors, so that one of three answers and two of six answers are equal shares.
    differences = {task: round(fmean(ones[task]) - fmean(others[task]), 12) for task in common}
    wins, losses = sum(value > 0 for value in differences.values()), sum(value < 0 for value in differences.values())
    papers = {paper_of(task) for task in common}
    one_differs = len(papers) > 1 and len({paper_of(task) for task, value in differences.items() if value}) == 1
    difference = estimate(differences) if common else None
    if difference is not None and one_differs:
        difference = difference.model_copy(update={"low": None, "high": None})
    p = None
    if common and not one_differs:
        p = mcnemar_p(wins, losses) if single else sign_flip_p(differences)
    return Comparison(
        first=first,
        second=second,
        tasks=len(common),
        difference=difference,
        wins=wins,
        losses=losses,
        test="McNemar" if single else "sign-flip",
        p=p,
        p_holm=None,
        one_differs=one_differs,
    )


def compared(item: Comparison) -> list[str]:
    """Return the cells of a comparison for the columns `COMPARED`."""
    return [
        NumberedText(str(item.tasks), {"": item.tasks}),
        number(None if item.difference is None else 100 * item.difference.mean, "+.1f"),
        "one paper differs" if item.one_differs else points(item.difference),
        NumberedText(f"{item.wins}/{item.losses}", {"won": item.wins, "lost": item.losses}),
        item.test,
        p_value(item.p),
        p_value(item.p_holm),
    ]


def comparison_sheet(pairs: Sequence[Comparison]) -> Sheet:
    """Return the table of comparisons of systems."""
    return sheet(
        "Paired comparisons of systems, in percentage points",
        ["first", "second", *COMPARED],
        [[item.first, item.second, *compared(item)] for item in pairs],
        numbers=NUMERIC,
        spare=SPARE,
        name="comparisons",
        note="For the tasks that both systems answered: the rate of the first minus that of the second, with its 95% "
        "interval over papers, and the numbers of tasks on which the first does better (won) and worse (lost). "
        "McNemar's exact test treats tasks as independent; if a system has several answers per task, a sign-flip test "
        "over whole papers is used instead. If the systems differ on only one paper, neither an interval nor a test is "
        "defined. p (Holm) is corrected for all pairs of this table. A large p does not show that two systems are "
        "equally good, and a small p does not show that the difference matters.",
    )


def _detectable(systems: str, tasks: int, observed: float | None) -> tuple[list[object], float | None]:
    """Return a row of the table of detectable differences, and the smallest detectable difference of two systems.

    Args:
        systems: The first cell of the row, which names the systems.
        tasks: The number of tasks that both systems answered.
        observed: The share of these tasks on which the systems differ; None or 0 to use `ASSUMED_DISCORDANT` instead.
    """
    share = observed or ASSUMED_DISCORDANT
    smallest = detectable_difference(tasks, share)
    row = [
        systems,
        tasks,
        NumberedText(f"{share:.1%}{'' if observed else ' (assumed)'}", {"": share}),
        number(None if smallest is None else 100 * smallest, ".1f", "none" if tasks else UNDEFINED),
    ]
    return row, smallest


@measure()
def measured_comparisons(findings: Findings) -> Measured:
    """Compare all pairs of systems, and compute the smallest differences that can be detected."""
    pairs = comparisons(findings.grades)
    whole, smallest = _detectable("any two systems", len({item.task for item in findings.grades}), None)
    of_pairs = [_detectable(f"{item.first} and {item.second}", item.tasks, item.discordant) for item in pairs]
    columns = ["systems", "tasks", "tasks that differ", "smallest difference"]
    detectable = sheet(
        "Smallest difference that McNemar's test detects with 80% power, in percentage points",
        columns,
        [whole, *(row for row, _ in of_pairs)],
        numbers=columns[1:],
        name="detectable",
        note="The smallest difference of two rates that the exact test detects with a power of 80% at a level of 5%. "
        "It depends on the number of tasks, with one answer each, and on the share of tasks that exactly one of the "
        "two systems solves: the observed share, or 30% if none was observed. None means that the test does not reach "
        "this power even for the largest possible difference. The numbers hold for a single comparison; correcting for "
        "several comparisons makes them larger.",
    )
    numbers = {
        "comparisons": [
            {**item.model_dump(), "discordant": item.discordant, "detectable_difference": found}
            for item, (_, found) in zip(pairs, of_pairs, strict=True)
        ],
        "detectable_difference": smallest,
    }
    return Measured(numbers, [*([comparison_sheet(pairs)] if pairs else []), detectable] if findings.grades else [])
