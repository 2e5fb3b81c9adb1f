"""Statistics of reports: means with intervals, paired tests, and the power of these tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from lmrbench.records import Record, grouped
from lmrbench.resampling import CONFIDENCE, central_interval, paper_draws, paper_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# The number of random sign flips for more than 13 papers; for up to 13 papers, all sign flips are enumerated.
FLIPS = 10_000
# The power and the significance level for which detectable differences are computed.
POWER = 0.8
LEVEL = 0.05
# Assumed share of tasks on which two systems differ, if none was observed.
ASSUMED_DISCORDANT = 0.3


class Estimate(Record):
    """A mean over tasks, or a difference of two such means, with its 95% interval.

    Attributes:
        mean: The mean or the difference.
        low: The lower end of the interval; None if the interval is not defined.
        high: The upper end of the interval; None if the interval is not defined.
    """

    mean: float
    low: float | None
    high: float | None


def estimate(values: Mapping[str, float]) -> Estimate:
    """Estimate a mean over tasks.

    Args:
        values: One value per task id, at least one.

    Returns:
        The mean, with the interval that `paper_interval` returns.
    """
    low, high = paper_interval(values) or (None, None)
    return Estimate(mean=sum(values.values()) / len(values), low=low, high=high)


def paper_interval(values: Mapping[str, float], seed: int = 0) -> tuple[float, float] | None:
    """Return the 95% percentile interval of a mean over tasks, from 2,000 bootstrap draws of whole papers.

    Args:
        values: One value per task id.
        seed: Seed of the draws.

    Returns:
        The ends of the interval; None for fewer than two papers, or if all values are equal, because every draw then
        gives the same mean.
    """
    return central_interval(_means(values, seed))


def group_difference(first: Mapping[str, float], second: Mapping[str, float]) -> Estimate:
    """Estimate the difference of the means over two groups of tasks that share no paper.

    Each of 2,000 bootstrap draws resamples the papers of both groups independently.

    Args:
        first: The values of the first group, by task id; not empty.
        second: The values of the second group, by task id; not empty.

    Returns:
        The mean of the second group minus that of the first. The interval is not defined if `paper_interval` returns
        None for one of the groups, because the variation between the papers of that group is then unknown.
    """
    before, after = _means(first, seed=0), _means(second, seed=1)
    interval = central_interval(after - before) if len(before) and len(after) else None
    low, high = interval or (None, None)
    difference = sum(second.values()) / len(second) - sum(first.values()) / len(first)
    return Estimate(mean=difference, low=low, high=high)


def _means(values: Mapping[str, float], seed: int) -> NDArray[np.float64]:
    """Return the mean over tasks in each draw of whole papers; an empty array if the means cannot vary."""
    import numpy as np

    if len(set(values.values())) < 2:
        return np.zeros(0)
    papers = list(grouped(values, paper_of).values())
    sums = np.array([sum(values[task] for task in tasks) for tasks in papers], dtype=float)
    counts = np.array([len(tasks) for tasks in papers])
    drawn = paper_draws(len(papers), seed)
    means: NDArray[np.float64] = drawn @ sums / (drawn @ counts)
    return means


def wilson_interval(share: float, count: int) -> tuple[float, float]:
    """Return Wilson's 95% interval of a share (Journal of the American Statistical Association 22, 1927).

    Args:
        share: The share, in [0, 1].
        count: Number of independent observations, at least one.

    Returns:
        The ends of the interval, computed by statsmodels.
    """
    from statsmodels.stats.proportion import proportion_confint

    low, high = proportion_confint(share * count, count, alpha=1 - CONFIDENCE, method="wilson")
    return max(0.0, low), min(1.0, high)


def mcnemar_p(wins: int, losses: int) -> float:
    """Return the two-sided p value of McNemar's exact test (Psychometrika 12, 1947), computed by statsmodels.

    Args:
        wins: The number of tasks that only the first system passes.
        losses: The number of tasks that only the second system passes.

    Returns:
        The p value; 1.0 if there are neither wins nor losses.
    """
    from statsmodels.stats.contingency_tables import mcnemar

    return float(mcnemar([[0, wins], [losses, 0]], exact=True).pvalue)


def sign_flip_p(differences: Mapping[str, float], seed: int = 0) -> float | None:
    """Return the two-sided p value of Fisher's permutation test, which flips the signs of paired differences.

    All differences of one paper are flipped together. See Good, Permutation, Parametric and Bootstrap Tests of
    Hypotheses, 2005, section 3.2. scipy enumerates all flips of up to 13 papers and draws 10,000 for more.

    Args:
        differences: The paired difference of each task, by task id.
        seed: Seed of the drawn flips.

    Returns:
        The p value; None for fewer than two papers.
    """
    import numpy as np
    from scipy.stats import permutation_test

    # Tasks of one paper are not independent, so their signs flip together.
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
    """Return the p values as corrected by Holm's step-down method (Scandinavian Journal of Statistics 6, 1979)."""
    from statsmodels.stats.multitest import multipletests

    return [float(p) for p in multipletests(ps, alpha=1 - CONFIDENCE, method="holm")[1]] if ps else []


def mcnemar_power(tasks: int, discordant: float, difference: float) -> float:
    """Return the power of McNemar's exact two-sided test at level 0.05.

    The power is computed exactly, by enumeration (Duffy, Biometrics 40, 1984). The number of tasks on which the systems
    differ has the binomial distribution B(tasks, discordant). The better system wins each of these tasks with
    probability (1 + difference / discordant) / 2.

    Args:
        tasks: Number of tasks that both systems answer once.
        discordant: Share of tasks that exactly one system passes, in (0, 1].
        difference: Difference of the two rates, in [0, discordant].

    Returns:
        The probability that the test rejects the hypothesis of equal rates.
    """
    import numpy as np
    from scipy.stats import binom

    differing = np.arange(tasks + 1)
    # The largest number of losses (or of wins) at which the test still rejects; -1 if it never rejects.
    critical = binom.ppf(LEVEL / 2, differing, 0.5)
    critical -= binom.cdf(critical, differing, 0.5) > LEVEL / 2
    winning = (1 + difference / discordant) / 2
    rejecting = binom.cdf(critical, differing, winning) + binom.sf(differing - critical - 1, differing, winning)
    return float(np.sum(binom.pmf(differing, tasks, discordant) * rejecting))


def detectable_difference(tasks: int, discordant: float) -> float | None:
    """Return the smallest difference of two rates that McNemar's exact test detects with a power of 0.8.

    Args:
        tasks: See `mcnemar_power`.
        discordant: See `mcnemar_power`.

    Returns:
        The difference; None if the power is below 0.8 even when one system wins every task on which the two differ. The
        difference holds for a single comparison; a correction for several comparisons makes it larger.
    """
    from scipy.optimize import brentq

    if not tasks or mcnemar_power(tasks, discordant, discordant) < POWER:
        return None
    return float(brentq(lambda value: mcnemar_power(tasks, discordant, value) - POWER, 0, discordant, xtol=1e-6))
