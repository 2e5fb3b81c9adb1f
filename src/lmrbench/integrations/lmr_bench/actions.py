"""Count the actions of agents by kind, and compare sessions that solve their task with the others.

A session is the work of an agent on a task. A session counts as repeated if the published results use another session
of the same system and paper.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from lmrbench.integrations.lmr_bench.published import PaperFigure
from lmrbench.integrations.lmr_bench.sessions import KINDS, LoggedSession
from lmrbench.records import Record

PERMUTATIONS = 10_000


class Distribution(Record):
    """The numbers of actions of each kind in a system's sessions that have a certain outcome.

    Attributes:
        system: The name of the system.
        outcome: The outcome of the sessions: "solved", "not solved" or "not known". "all" stands for all sessions
            that are not repeated, and "with repeats" for all sessions.
        sessions: The number of sessions.
        actions: The number of actions in all these sessions.
        counts: The number of actions by kind.
        shares: The share of actions by kind; empty if there are no actions.
    """

    system: str
    outcome: str
    sessions: int
    actions: int
    counts: dict[str, int]
    shares: dict[str, float]


class Contrast(Record):
    """A permutation test of whether a system's actions differ between sessions that solved their task and the others.

    Attributes:
        system: The name of the system.
        solved: The number of sessions that solved their task.
        unsolved: The number of sessions that did not solve it.
        distance: The total variation distance, from 0 to 1, between the two groups' mean shares of actions by kind.
            None if a group is empty.
        p: The p value: the share of 10,000 random permutations of the outcomes that have at least this distance. The
            observed outcomes are counted as one more permutation. None if a group is empty.
    """

    system: str
    solved: int
    unsolved: int
    distance: float | None
    p: float | None


def action_figures(sessions: Iterable[LoggedSession]) -> list[PaperFigure]:
    """Count the actions that Figures 5 and 6 of the LMR-BENCH paper show. The figures print no numbers.

    Args:
        sessions: The sessions of OpenHands.
    """
    found = distributions(sessions)
    wholes = {item.system: item for item in found if item.outcome in ("all", "with repeats")}
    kinds = ", ".join(KINDS)
    figures = [("Figure 5", item) for item in wholes.values()]
    figures += [("Figure 6", item) for item in found if item.outcome in ("solved", "not solved")]
    return [
        PaperFigure(
            place=place,
            name=f"{item.system}, {item.outcome}, actions: {kinds}",
            printed=(),
            recomputed=tuple(item.counts.values()),
            unit="count",
        )
        for place, item in figures
    ]


def distributions(sessions: Iterable[LoggedSession]) -> list[Distribution]:
    """Return the distributions of actions by system and outcome.

    Args:
        sessions: Sessions of any systems.

    Returns:
        For each system, a distribution over all sessions and one for each outcome, both without repeated sessions. For
        systems with repeated sessions, also a distribution "with repeats".
    """
    groups: dict[tuple[str, str], list[LoggedSession]] = {}
    for item in sessions:
        outcome = {True: "solved", False: "not solved", None: "not known"}[item.solved]
        for name in ("with repeats",) if item.repeated else ("all", outcome, "with repeats"):
            groups.setdefault((item.system, name), []).append(item)
    return [
        _distribution(system, outcome, items)
        for (system, outcome), items in sorted(groups.items())
        if outcome != "with repeats" or any(item.repeated for item in items)
    ]


def contrasts(sessions: Iterable[LoggedSession], seed: int = 0) -> list[Contrast]:
    """Compare the sessions that solved their task with the others, with a permutation test for each system.

    Sessions without actions or without an outcome are ignored.

    Args:
        sessions: Sessions of any systems.
        seed: The seed of the permutations.

    Returns:
        The result of the test for each system, sorted by name.
    """
    systems: dict[str, list[LoggedSession]] = {}
    for item in sessions:
        systems.setdefault(item.system, [])
        if item.solved is not None and item.counts:
            systems[item.system].append(item)
    return [_contrast(system, items, seed) for system, items in sorted(systems.items())]


def _contrast(system: str, sessions: Sequence[LoggedSession], seed: int) -> Contrast:
    solved = np.array([bool(item.solved) for item in sessions], dtype=bool)
    count = int(solved.sum())
    if not 0 < count < len(solved):
        return Contrast(system=system, solved=count, unsolved=len(solved) - count, distance=None, p=None)
    shares = np.array([[item.counts.get(kind, 0) for kind in KINDS] for item in sessions], dtype=float)
    shares /= shares.sum(axis=1, keepdims=True)
    distance = _distance(shares, solved)
    generator = np.random.default_rng(seed)
    # Without the tolerance, rounding errors could exclude permutations whose distance equals the observed one.
    as_far = sum(_distance(shares, generator.permutation(solved)) >= distance - 1e-12 for _ in range(PERMUTATIONS))
    return Contrast(
        system=system,
        solved=count,
        unsolved=len(solved) - count,
        distance=distance,
        p=(1 + as_far) / (1 + PERMUTATIONS),
    )


def _distance(shares: NDArray[np.float64], solved: NDArray[np.bool_]) -> float:
    return float(np.abs(shares[solved].mean(axis=0) - shares[~solved].mean(axis=0)).sum() / 2)


def _distribution(system: str, outcome: str, sessions: Sequence[LoggedSession]) -> Distribution:
    total: Counter[str] = Counter()
    for item in sessions:
        total.update(item.counts)
    count = total.total()
    return Distribution(
        system=system,
        outcome=outcome,
        sessions=len(sessions),
        actions=count,
        counts={kind: total[kind] for kind in KINDS},
        shares={kind: total[kind] / count for kind in KINDS} if count else {},
    )
