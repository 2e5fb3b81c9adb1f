"""Measure the horizon of a system with forensic tasks that are chosen from its earlier answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from lmrbench.report.horizon import Horizon, Outcome, horizon, most_informative
from lmrbench.tasks.model import DrawId, Task
from lmrbench.tasks.tiers.forensic import LADDER, Drawn

# The exclusive upper bound of the seeds of draws.
SEEDS = 2**31


@dataclass(frozen=True)
class Budget:
    """The conditions under which a measurement stops.

    Attributes:
        tasks: The largest number of tasks.
        width: The measurement stops when the upper end of the interval is at most this many times its lower end; None
            to use all tasks.
        batch: The number of tasks that are chosen and solved at a time.
    """

    tasks: int
    width: float | None
    batch: int


def measured(
    system: str,
    outcomes: Sequence[Outcome],
    papers: Mapping[str, Task],
    seed: int,
    budget: Budget,
    is_fair: Callable[[Task, DrawId], bool],
    answer: Callable[[Sequence[Drawn]], Sequence[Outcome]],
) -> Iterator[Horizon]:
    """Have a system answer tasks until the budget ends, and yield the estimate of its horizon after each batch.

    Args:
        system: The name of the system.
        outcomes: The answers of the system so far.
        papers: One task of each paper that has a pool of deviations, by the slug of the paper.
        seed: The seed of the first draw. Each further draw has the next seed.
        budget: The conditions for stopping.
        is_fair: Returns whether the draw with this id is fair for a paper. If not, fewer changes are tried.
        answer: Has the system answer tasks, and returns the outcomes without the tasks that it could not be asked.
    """
    found, asked = list(outcomes), len(outcomes)
    while asked < budget.tasks:
        count = min(budget.batch, budget.tasks - asked)
        draws = _next_draws(found, papers, count, seed + asked, is_fair)
        answers = answer(draws) if draws else ()
        if not answers:
            return
        found += answers
        asked += count
        now = horizon(system, found)
        yield now
        if budget.width is not None and now.high / now.low <= budget.width:
            return


def _next_draws(
    outcomes: Sequence[Outcome],
    papers: Mapping[str, Task],
    count: int,
    seed: int,
    is_fair: Callable[[Task, DrawId], bool],
) -> list[Drawn]:
    """Choose the most informative draws that are fair. Draws of several changes are entangled if the seed is odd."""
    draws = []
    for number, (slug, changes) in enumerate(most_informative(outcomes, papers, count), start=seed):
        ids = (
            DrawId(smaller, number % SEEDS, entangled=smaller > 1 and number % 2 == 1)
            for smaller in reversed(LADDER[: LADDER.index(changes) + 1])
        )
        fair = next((draw for draw in ids if is_fair(papers[slug], draw)), None)
        if fair is not None:
            draws.append((papers[slug], fair))
    return draws
