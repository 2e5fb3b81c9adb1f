"""Paired comparisons of systems, and the smallest difference that the tasks can detect."""

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
# The columns of a comparison, after those that name what is compared.
COMPARED = ("tasks", "difference", "interval", "won/lost", "test", "p", "p (Holm)")
NUMERIC = tuple(name for name in COMPARED if name != "test")
SPARE = ("interval", "won/lost", "tasks", "p", "test")


class Comparison(Record):
    """Two systems on the tasks that both answered.

    Attributes:
        difference: The rate of the first minus that of the second, with its interval over papers; None without a
            common task.
        wins: The number of tasks on which the first has the larger share of passing answers.
        losses: The number of tasks on which the second has the larger share.
        p: The p value of `test`; None if the test is not defined.
        p_holm: The p value after Holm's correction for all pairs that have one.
        one_differs: The systems differ on a single one of several papers, so neither interval nor test is defined.
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
        """The share of tasks on which the two differ."""
        return (self.wins + self.losses) / self.tasks if self.tasks else None


def comparisons(grades: Iterable[Grade]) -> list[Comparison]:
    """Compare all pairs of systems.

    If both systems have one answer to each common task, the test is McNemar's exact test, which takes tasks as
    independent. Otherwise it is `sign_flip_p`.

    Args:
        grades: Graded answers; unanswered samples have no grade.

    Returns:
        The pairs in the order in which the systems first occur; none for a single system.
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
    """Return comparisons with `p_holm` set, corrected for all of those that have a p value."""
    ps = iter(holm([item.p for item in found if item.p is not None]))
    return [item if item.p is None else item.model_copy(update={"p_holm": next(ps)}) for item in found]


def _compared(first: str, second: str, answers: Mapping[str, Mapping[str, Sequence[float]]]) -> Comparison:
    ones, others = answers[first], answers[second]
    common = [task for task in ones if task in others]
    single = all(len(ones[task]) == len(others[task]) == 1 for task in common)
    # Rounded, so that one of three answers and two of six are the same share.
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
    """Return the cells of a comparison, in the columns `COMPARED`."""
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
    """Return the table of some pairs of systems."""
    return sheet(
        "Paired comparisons of systems, in percentage points",
        ["first", "second", *COMPARED],
        [[item.first, item.second, *compared(item)] for item in pairs],
        numbers=NUMERIC,
        spare=SPARE,
        name="comparisons",
        note="On the tasks that both systems answered: the rate of the first minus that of the second, with the 95% "
        "interval over papers, and on how many tasks the first does better or worse. McNemar's exact test takes tasks "
        "as independent; if a system has several answers per task, the signs of whole papers are flipped instead. If "
        "a single paper differs, neither an interval nor a test is defined. p (Holm) is corrected for all pairs of "
        "this table. A large p does not show that two systems are equally good, and a small p does not show that the "
        "difference matters.",
    )


def _detectable(systems: str, tasks: int, observed: float | None) -> tuple[list[object], float | None]:
    """Return the row of some systems, and the smallest difference that their tasks can detect."""
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
    """Compare systems in pairs."""
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
        note="The difference of two rates that the exact test detects with a power of 80% at a level of 5%, for this "
        "many tasks with one answer each, of which this share is solved by exactly one system: the observed share, or "
        "30% if none was observed. None means that not even the largest possible difference is detected with that "
        "power. The numbers hold for a single comparison; a correction for several makes them larger.",
    )
    numbers = {
        "comparisons": [
            {**item.model_dump(), "discordant": item.discordant, "detectable_difference": found}
            for item, (_, found) in zip(pairs, of_pairs, strict=True)
        ],
        "detectable_difference": smallest,
    }
    return Measured(numbers, [*([comparison_sheet(pairs)] if pairs else []), detectable] if findings.grades else [])
