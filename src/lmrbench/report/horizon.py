"""The reproduction horizon of a system: the number of changes at which it solves half of the forensic tasks.

A forensic task asks a solver to find the changes that were made to a paper's program, given the results that the
changed program logged.

The model is a Bayesian logistic regression. A system with horizon K50 solves a task of paper p with K changes with
probability 1 / (1 + (K / (K50 * r_p)) ** slope), where log r_p, the effect of the paper, is normal with mean 0. The
posterior is computed on a grid, and the effects are integrated out by Gauss-Hermite quadrature.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from lmrbench.records import Record, grouped
from lmrbench.resampling import CONFIDENCE
from lmrbench.tasks.tiers.forensic import LADDER

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

# The prior of K50 is flat in log K50 between these ends.
LOWEST, HIGHEST = 0.25, 32.0
# The prior of the slope is log-normal. At a slope of 2, the share solved falls from 90% to 10% while K grows ninefold.
_MEDIAN_SLOPE, _SPREAD_OF_SLOPES = 2.0, 0.6
# The prior of the standard deviation of log r_p is half-normal with this scale.
_SPREAD_OF_PAPERS = 0.6


class Outcome(NamedTuple):
    """One answer to a forensic task.

    Attributes:
        paper: The paper of the task.
        changes: The number of changes of the task, K.
        solved: 1 if the answer is correct, 0 if not; for an answer that is still pending, the probability of success.
    """

    paper: str
    changes: int
    solved: float


class Horizon(Record):
    """The horizon of one system.

    Attributes:
        system: The name of the system.
        tasks: The number of answers.
        papers: The number of papers of the answered tasks.
        k50: The posterior median of K50.
        low: The lower end of the central 95% interval of K50.
        high: The upper end of that interval.
        shares: The posterior mean of the share of tasks solved in a new paper, by the number of changes.
    """

    system: str
    tasks: int
    papers: int
    k50: float
    low: float
    high: float
    shares: Mapping[int, float]


class HorizonRatio(Record):
    """The ratio of the horizons of two systems.

    Attributes:
        first: The name of one system.
        second: The name of the other.
        ratio: The posterior median of the ratio, K50 of the first system divided by K50 of the second.
        low: The lower end of the central 95% interval of the ratio.
        high: The upper end of that interval.
        p: Twice the posterior probability of the less probable order of the two horizons, at most 1.
    """

    first: str
    second: str
    ratio: float
    low: float
    high: float
    p: float


def horizon(system: str, outcomes: Sequence[Outcome]) -> Horizon:
    """Estimate the horizon of a system.

    Args:
        system: The name of the system.
        outcomes: The answers of the system.
    """
    import numpy as np

    grid = _grid()
    weights = np.exp(_log_posterior([outcomes]))
    low, median, high = _quantiles(grid.horizons, weights.sum(axis=(1, 2)))
    # The mean over the effect of a new paper, and then over the posterior.
    shares = (_solved() @ grid.node_weights * weights).sum(axis=(1, 2, 3))
    return Horizon(
        system=system,
        tasks=len(outcomes),
        papers=len({item.paper for item in outcomes}),
        k50=math.exp(median),
        low=math.exp(low),
        high=math.exp(high),
        shares=dict(zip(LADDER, shares.tolist(), strict=True)),
    )


def compare(outcomes: Mapping[str, Sequence[Outcome]]) -> list[HorizonRatio]:
    """Compare the horizons of each pair of systems. The model assumes that a paper has the same effect on both.

    Args:
        outcomes: The answers of each system, by its name.
    """
    import numpy as np

    found = []
    for first, second in itertools.combinations(outcomes, 2):
        joint = np.exp(_log_posterior([outcomes[first], outcomes[second]])).sum(axis=(2, 3))
        steps = np.arange(joint.shape[0])
        differences = (steps[:, None] - steps).ravel()
        values, places = np.unique(differences, return_inverse=True)
        weights = np.bincount(places, joint.ravel()).astype(float)
        low, median, high = _quantiles(values * _grid().step, weights)
        below, above = weights[values < 0].sum(), weights[values > 0].sum()
        tie = weights[values == 0].sum()
        found.append(
            HorizonRatio(
                first=first,
                second=second,
                ratio=math.exp(median),
                low=math.exp(low),
                high=math.exp(high),
                p=min(1.0, 2 * (min(below, above) + tie / 2)),
            )
        )
    return found


def most_informative(outcomes: Sequence[Outcome], papers: Iterable[str], count: int) -> list[tuple[str, int]]:
    """Choose the paper and the number of changes of each of the next tasks of a system.

    Each task is drawn from the paper with the fewest answers, with the number of changes for which the outcome has the
    largest mutual information with K50. A task that was chosen earlier in the batch has no outcome yet, so it counts
    with its probability of success.

    Args:
        outcomes: The answers so far.
        papers: All papers, in the order in which ties are broken.
        count: The number of tasks to choose.

    Returns:
        The paper and the number of changes of each task.
    """
    so_far, chosen = list(outcomes), []
    numbers = {paper: sum(item.paper == paper for item in so_far) for paper in papers}
    for _ in range(count):
        paper = min(numbers, key=lambda name: numbers[name])
        information, shares = _information(so_far, paper)
        place = max(range(len(LADDER)), key=lambda number: information[number])
        so_far.append(Outcome(paper, LADDER[place], shares[place]))
        chosen.append((paper, LADDER[place]))
        numbers[paper] += 1
    return chosen


class _Grid(NamedTuple):
    """The points at which the posterior is computed; the shapes of the arrays are in parentheses.

    Attributes:
        horizons: Values of log K50, (H,).
        slopes: Slopes, (S,).
        spreads: Standard deviations of the effects of papers, (T,).
        nodes: Nodes of the quadrature, for a standard normal effect, (N,).
        node_weights: Weights of the nodes, (N,).
        log_prior: The logarithm of the prior of slope and spread, (S, T).
    """

    horizons: Floats
    slopes: Floats
    spreads: Floats
    nodes: Floats
    node_weights: Floats
    log_prior: Floats

    @property
    def step(self) -> float:
        """The distance between two values of log K50."""
        return float(self.horizons[1] - self.horizons[0])


@functools.cache
def _grid() -> _Grid:
    import numpy as np

    horizons = np.linspace(math.log(LOWEST), math.log(HIGHEST), 99)
    slopes = np.geomspace(0.5, 8.0, 9)
    spreads = np.linspace(0.0, 1.2, 5)
    nodes, weights = np.polynomial.hermite_e.hermegauss(9)
    of_slopes = -0.5 * (np.log(slopes / _MEDIAN_SLOPE) / _SPREAD_OF_SLOPES) ** 2
    of_spreads = -0.5 * (spreads / _SPREAD_OF_PAPERS) ** 2
    return _Grid(horizons, slopes, spreads, nodes, weights / weights.sum(), of_slopes[:, None] + of_spreads)


@functools.cache
def _log_shares(changes: int) -> tuple[Floats, Floats]:
    """Return the log-probabilities that a task is solved and that it is not, both of shape (H, S, T, N)."""
    from scipy.special import log_expit

    grid = _grid()
    advantage = grid.horizons[:, None, None] + grid.spreads[:, None] * grid.nodes - math.log(changes)
    odds = advantage[:, None] * grid.slopes[:, None, None]
    return log_expit(odds), log_expit(-odds)


def _solved() -> Floats:
    """Return the probability of solving a task, (K, H, S, T, N), for each number of changes in `LADDER`."""
    import numpy as np

    return np.exp([_log_shares(changes)[0] for changes in LADDER])


# Cached, because each step of an adaptive run adds an answer to only one paper.
@functools.lru_cache(maxsize=128)
def _likelihood(outcomes: tuple[Outcome, ...]) -> tuple[Floats, Floats]:
    """Return the scaled likelihood of the answers of one paper, (H, S, T, N), and the log of the scale, (H, S, T)."""
    import numpy as np

    total = np.zeros_like(_log_shares(1)[0])
    for item in outcomes:
        solved, unsolved = _log_shares(item.changes)
        total += item.solved * solved + (1 - item.solved) * unsolved
    # Without the scale, the likelihood of a grid point could underflow to 0 at all nodes.
    scale = total.max(axis=-1)
    return np.exp(total - scale[..., None]), scale


def _log_posterior(systems: Sequence[Sequence[Outcome]]) -> Floats:
    """Return the normalized log-posterior of one system, (H, S, T), or of two, (H, H, S, T)."""
    import numpy as np
    from scipy.special import logsumexp

    grid = _grid()
    total = np.broadcast_to(grid.log_prior, (*[len(grid.horizons)] * len(systems), *grid.log_prior.shape))
    of_papers = [grouped(outcomes, lambda item: item.paper) for outcomes in systems]
    for paper in dict.fromkeys(itertools.chain(*of_papers)):
        (of_first, scale), *others = [_likelihood(tuple(items.get(paper, ()))) for items in of_papers]
        if others:
            [(of_second, scale_of_second)] = others
            both = np.einsum("hstn,gstn->hgst", of_first * grid.node_weights, of_second)
            # If no effect of the paper fits both systems, the product underflows to 0 and the grid point has no weight.
            with np.errstate(divide="ignore"):
                total = total + scale[:, None] + scale_of_second + np.log(both)
        else:
            total = total + scale + np.log(of_first @ grid.node_weights)
    normalized: Floats = total - logsumexp(total)
    return normalized


def _information(outcomes: Sequence[Outcome], paper: str) -> tuple[list[float], list[float]]:
    """Return, for each number of changes, a task's mutual information with K50 and its probability of success.

    Args:
        outcomes: The answers so far.
        paper: The paper of the task.
    """
    import numpy as np
    from scipy.special import entr

    grid = _grid()
    of_others = _log_posterior([[item for item in outcomes if item.paper != paper]])
    of_paper, scale = _likelihood(tuple(item for item in outcomes if item.paper == paper))
    log_weights = of_others + scale
    weights = np.exp(log_weights - log_weights.max())[..., None] * of_paper * grid.node_weights
    weights /= weights.sum()
    of_horizons = weights.sum(axis=(1, 2, 3))
    jointly = np.einsum("khstn,hstn->kh", _solved(), weights)
    shares = jointly.sum(axis=1)
    given = np.divide(jointly, of_horizons, out=np.zeros_like(jointly), where=of_horizons > 0)
    noise = ((entr(given) + entr(1 - given)) * of_horizons).sum(axis=1)
    return (entr(shares) + entr(1 - shares) - noise).tolist(), shares.tolist()


def _quantiles(values: Floats, weights: Floats) -> tuple[float, float, float]:
    """Return the ends of the central interval and the median of a distribution on ascending values."""
    import numpy as np

    # Each weight is spread evenly over its cell, which ends halfway to the next value.
    cumulative = np.concatenate([[0.0], np.cumsum(weights / weights.sum())])
    edges = np.concatenate([values[:1], (values[1:] + values[:-1]) / 2, values[-1:]])
    levels = [(1 - CONFIDENCE) / 2, 0.5, (1 + CONFIDENCE) / 2]
    low, median, high = np.interp(levels, cumulative, edges)
    return float(low), float(median), float(high)
