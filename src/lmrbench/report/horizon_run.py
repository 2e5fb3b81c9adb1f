"""Measure the horizon of a model with newly drawn forensic tasks, and store its answers in a run folder.

A forensic task asks a solver to find the changes that were made to a program, given the results that the changed
program logged. The horizon of a model is the number of changes at which it solves half of such tasks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from lmrbench.errors import TaskError, UsageError
from lmrbench.grading.draw import fresh_seed
from lmrbench.grading.forging import fair_draw
from lmrbench.grading.plan import GradingPlan
from lmrbench.grading.selection import Selection
from lmrbench.models.settings import Settings
from lmrbench.progress import Stages
from lmrbench.report.adaptive import Budget, measured
from lmrbench.report.horizon import Horizon, Outcome
from lmrbench.report.measures.horizon import outcomes
from lmrbench.runs.folder import GRADES, read_run
from lmrbench.sandbox.registry import open_pool
from lmrbench.solving.starting import solve_with
from lmrbench.tasks.loading import suite_folders
from lmrbench.tasks.model import DrawId, Task
from lmrbench.tasks.tiers.forensic import Drawn, deviation_pool


def measure_horizon(
    settings: Settings,
    prices: Path | None,
    tasks: Selection,
    folder: Path,
    plan: GradingPlan,
    budget: Budget,
    stages: Stages,
    warn: Callable[[str], None],
    set_aside: Callable[[int], None],
) -> Iterator[Horizon]:
    """Have a model solve forensic tasks until its horizon is known precisely enough, or the budget is used up.

    Args:
        settings: The model, and the settings with which it answers.
        prices: The file with the prices of models (see `set_prices`); None if there is none.
        tasks: The selected tasks. New forensic tasks are drawn for the papers of these tasks. Papers without a pool of
            deviations (changes to draw from) are left out.
        folder: The run folder. The forensic answers of this model that it already contains count, too.
        plan: The conditions of grading, such as the seeds and the sandbox.
        budget: The conditions for stopping.
        stages: Shows the progress of drawing and creating tasks.
        warn: Called with a message if a paper has no fair draw with the wanted number of changes and seed. A draw is
            fair if a search can find its changes from the logs.
        set_aside: Called with the number of grades made by another installation if the folder contains any.

    Yields:
        The horizon after each batch of tasks.

    Raises:
        UsageError: None of the papers has a pool of deviations.
    """
    papers = {task.paper.slug: task for task in reversed(tasks.chosen) if task.files.deviations}
    if not papers:
        raise UsageError("none of these papers has a deviations.toml, so there are no forensic tasks")
    earlier = read_run(folder) if (folder / GRADES).exists() else None
    before = outcomes(earlier.grades).get(settings.name, []) if earlier else []
    known = tasks.with_tiers_of(earlier.submissions if earlier else (), plan.sandbox, stages)

    def is_fair(task: Task, draw: DrawId) -> bool:
        try:
            opened = open_pool(plan.sandbox, suite_folders(tasks.suite), plan.workers)
            with opened as pool, stages(f"{task.paper.slug}/{draw}", 1) as (_, advance):
                fair_draw(task, deviation_pool(task), draw, pool, advance)
        except (TaskError, UsageError) as error:
            warn(f"{error}; trying a draw with fewer changes")
            return False
        return True

    def answer(draws: Sequence[Drawn]) -> list[Outcome]:
        nonlocal known
        known = known.with_draws(draws, plan.sandbox, stages)
        run = solve_with(settings=settings, prices=prices, tasks=known, folder=folder, plan=plan, set_aside=set_aside)
        return outcomes(run.grades).get(settings.name, [])

    yield from measured(settings.name, before, papers, fresh_seed(), budget, is_fair, answer)
