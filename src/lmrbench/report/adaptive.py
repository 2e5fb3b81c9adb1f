"""Measure the horizon of a system: the number of changes at which it solves half of the forensic tasks.

A forensic task asks a solver to find the changes that were made to a program, given the results that the changed
program logged. The changes are drawn at random from a pool. A draw is fair if a search can find its changes from the
logs (see `lmrbench.grading.forging`).

The measurement is adaptive: each batch of tasks is chosen to be as informative as possible about the horizon, given the
answers so far.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from lmrbench.report.horizon import Horizon, Outcome, horizon, most_informative
from lmrbench.tasks.model import DrawId, Task
from lmrbench.tasks.tiers.forensic import LADDER, Drawn

# Seeds of draws are smaller than this number.
SEEDS = 2**31


@dataclass(frozen=True)
class Budget:
    """The conditions under which a measurement stops.

    Attributes:
        tasks: The measurement stops after this many tasks, earlier answers included.
        width: The measurement also stops when the upper end of the horizon's interval is at most this many times its
            lower end; None for no such condition.
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
    """Have a system answer tasks until the budget is used up, and yield its estimated horizon after each batch.

    The measurement also ends when no task of a batch could be drawn or answered.

    Args:
        system: The name of the system.
        outcomes: The answers of the system so far.
        papers: One task of each paper that has a pool of deviations (changes to draw from), by the slug of the paper.
        seed: The seed of draw number 0. Seeds increase by 1 with each draw, and earlier answers count as draws.
        budget: The conditions for stopping.
        is_fair: Returns whether a paper has a fair draw with this id. If it has none, a draw with fewer changes is
            tried.
        answer: Has the system answer the drawn tasks, and returns the outcomes. Tasks without an answer are left out.
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
    """Choose the most informative draws. If one is not fair, a fair draw with fewer changes replaces it, if possible.

    A draw of several changes is entangled (changes share a stage of the experiment) if its seed is odd.
    """
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
