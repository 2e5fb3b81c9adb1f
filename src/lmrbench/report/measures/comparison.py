"""Is one system better than another, on the tasks that both answered?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import Literal

from lmrbench.grading.records import Grade
from lmrbench.records import Record, grouped
from lmrbench.report.statistics import CONFIDENCE, Estimate, estimate, paper_of

# All ways to flip the signs of up to 13 papers are tried; of more, this many are drawn.
FLIPS = 10_000
Test = Literal["McNemar", "sign-flip"]


class Comparison(Record):
    """Two systems on the tasks that both answered.

    difference: of the rates, that of the first minus that of the second; its interval comes from drawing papers; None
    without a task in common. wins: on how many tasks the first has the larger share of answers that pass. p: of `test`;
    p_holm: after Holm's correction for all pairs that have a p. Both are None where the test is not defined.
    one_differs: of several papers the two differ on one alone, of which neither an interval nor a test says anything.
    """

    first: str
    second: str
    tasks: int
    difference: Estimate | None
    wins: int
    losses: int
    test: Test
    p: float | None
    p_holm: float | None
    one_differs: bool = False

    @property
    def discordant(self) -> float | None:
        """The share of tasks on which the two differ."""
        return (self.wins + self.losses) / self.tasks if self.tasks else None


def comparisons(grades: Iterable[Grade]) -> list[Comparison]:
    """All pairs of systems, in the order in which these first occur; [] for a single one.

    Samples that the machinery left unanswered have no grade, and a task that only one of two has an answer to is not in
    their comparison. Where both have one answer to each task, the test is McNemar's, exact; it takes tasks as
    independent. Where one has several, signs of papers are flipped (`sign_flip_p`).
    """
    answers = {
        system: {
            task: [float(item.passed) for item in of_task]
            for task, of_task in grouped(items, lambda item: item.task).items()
        }
        for system, items in grouped(grades, lambda item: item.system).items()
    }
    return corrected([_compared(first, second, answers) for first, second in combinations(answers, 2)])


def corrected(found: Sequence[Comparison]) -> list[Comparison]:
    """Comparisons with `p_holm` for all of those that have a p."""
    ps = iter(holm([item.p for item in found if item.p is not None]))
    return [item if item.p is None else item.model_copy(update={"p_holm": next(ps)}) for item in found]


def mcnemar_p(wins: int, losses: int) -> float:
    """The two-sided p of McNemar's exact test: wins are binomial with probability 1/2 of all tasks that differ.

    McNemar, Psychometrika 12, 1947; computed by statsmodels. 1.0 where no task differs.
    """
    from statsmodels.stats.contingency_tables import mcnemar

    return float(mcnemar([[0, wins], [losses, 0]], exact=True).pvalue)


def sign_flip_p(differences: Mapping[str, float], seed: int = 0) -> float | None:
    """The two-sided p of the permutation test that flips the signs of whole papers.

    Fisher's test of paired differences (Good, Permutation, Parametric and Bootstrap Tests of Hypotheses, 2005, section
    3.2); computed by scipy, with all flips for up to 13 papers and 10,000 seeded ones for more. differences: by task.
    None for fewer than two papers, of which no flip says anything.
    """
    import numpy as np
    from scipy.stats import permutation_test

    # Tasks of a paper are not independent, so they flip together.
    sums = [sum(differences[task] for task in tasks) for tasks in grouped(differences, paper_of).values()]
    if len(sums) < 2:
        return None
    result = permutation_test(
        (np.array(sums), np.zeros(len(sums))),
        lambda x, y, axis: np.sum(x - y, axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=FLIPS,
        rng=np.random.default_rng(seed),
    )
    return float(result.pvalue)


def holm(ps: Sequence[float]) -> list[float]:
    """The p values after Holm's step-down correction (Scandinavian Journal of Statistics 6, 1979), by statsmodels."""
    from statsmodels.stats.multitest import multipletests

    return [float(p) for p in multipletests(ps, alpha=1 - CONFIDENCE, method="holm")[1]] if ps else []


def _compared(first: str, second: str, answers: Mapping[str, Mapping[str, Sequence[float]]]) -> Comparison:
    ones, others = answers[first], answers[second]
    common = [task for task in ones if task in others]
    single = all(len(ones[task]) == len(others[task]) == 1 for task in common)
    # Rounded, so that a third of three answers and two sixths of six are no difference.
    differences = {task: round(_mean(ones[task]) - _mean(others[task]), 12) for task in common}
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


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
