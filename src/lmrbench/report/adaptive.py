"""Measure the horizon of a system with forensic tasks that are chosen as its answers come in."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from lmrbench.report.horizon import Horizon, Outcome, horizon, most_informative
from lmrbench.tasks.model import DrawId, Task
from lmrbench.tasks.tiers.forensic import LADDER, Drawn

# The seeds of draws are below this number.
SEEDS = 2**31


@dataclass(frozen=True)
class Budget:
    """When a measurement stops.

    Attributes:
        tasks: The largest number of tasks.
        width: The ratio of the ends of the interval at which it is narrow enough; None to use all tasks.
        batch: The number of tasks that are chosen, and solved, at a time.
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
    """Have a system answer tasks until its horizon is known well enough; yield the horizon after each batch.

    Args:
        system: The name of the system.
        outcomes: Its answers so far.
        papers: A task of each paper with a pool, by slug.
        seed: The seed of the first draw. Each further draw has the next seed.
        budget: When to stop.
        is_fair: Returns whether a paper has a fair draw of some id. If not, a smaller one is tried.
        answer: Has the system answer tasks. What it could not be asked is left out of the result.
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
    """Choose the most informative draws that are fair. Every second one is entangled."""
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
