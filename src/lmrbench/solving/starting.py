"""Open a model, have it solve tasks, and store its answers in a run folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from lmrbench.errors import UsageError
from lmrbench.files import locked
from lmrbench.grading.grader import Grader
from lmrbench.grading.plan import GradingPlan
from lmrbench.grading.selection import Selection
from lmrbench.interrupt import as_keyboard_interrupt
from lmrbench.models.opening import address, open_model, set_prices
from lmrbench.models.settings import Settings
from lmrbench.runs.folder import Run
from lmrbench.solving.run import solve


def solve_with(
    settings: Settings,
    prices: Path | None,
    tasks: Selection,
    folder: Path,
    plan: GradingPlan,
    set_aside: Callable[[int], None],
) -> Run:
    """Open the model named in the settings, and have it solve the chosen tasks; see `lmrbench.solving.run.solve`.

    Args:
        settings: The model, and the conditions under which it solves tasks.
        prices: A file of prices in the format of `set_prices`, or None.
        tasks: The tasks to solve.
        folder: The run folder.
        plan: The conditions under which answers are graded.
        set_aside: A function that is called with the number of grades in the folder that another installation made, if
            there are any. These grades are moved to `grades.unverified.jsonl`.

    Raises:
        UsageError: The model can't be set up, or the cost is limited but the model's prices are not known.
    """
    if prices is not None:
        settings = settings.model_copy(update={"prices": set_prices(prices, settings.model)})
    if settings.cost_limit is not None and not settings.prices:
        why = " needs --prices" if prices is None else f" needs prices, but {prices} has none for {settings.model}"
        option = "the cost limit of --protocol paper" if settings.protocol == "paper" else "--cost-limit"
        raise UsageError(f"{option}{why}")
    model = open_model(settings)
    settings = settings.model_copy(update={"base_url": address(model)})
    suite = tasks.suite.resolve()
    with locked(folder), as_keyboard_interrupt(), Grader(tasks.by_id, plan) as grader:
        return solve(
            folder=folder,
            settings=settings,
            model=model,
            grader=grader,
            chosen=tasks.chosen,
            suite=suite,
            set_aside=set_aside,
        )
