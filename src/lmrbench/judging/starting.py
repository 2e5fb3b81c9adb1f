"""Open the models of judges, and have them judge a run folder."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from inspect_ai.model import GenerateConfig

from lmrbench.interrupt import as_cancellation
from lmrbench.judging.plan import JudgingPlan
from lmrbench.judging.runs import Judged, judge_run
from lmrbench.models.opening import open_model, set_prices
from lmrbench.models.settings import Settings
from lmrbench.runs.records import Judgement
from lmrbench.tasks.model import Task
from lmrbench.tasks.submission import Submission


def judge_with(
    judges: Sequence[str],
    settings: Settings,
    prices: Path | None,
    folder: Path,
    submissions: Sequence[Submission],
    chosen: Sequence[Submission],
    tasks: Mapping[str, Task],
    plan: JudgingPlan,
    planned: Callable[[int, int], None],
    voted: Callable[[Judgement], None],
) -> Judged:
    """Open the models of judges, and have them judge the chosen submissions; see `lmrbench.judging.runs.judge_run`.

    Args:
        judges: The names of the judges' models.
        settings: The limits on requests to the models.
        prices: A file of prices in the form that `set_prices` reads; None if prices are unknown.
        folder: The run folder.
        submissions: All submissions in the folder.
        chosen: The submissions to judge.
        tasks: The tasks by id.
        plan: The number of votes, and the options that determine the prompts.
        planned: Called once with the number of stored votes and the total number of votes.
        voted: Called with each new vote after it is written to disk.

    Raises:
        UsageError: A model can't be set up.
    """
    if prices is not None:
        set_prices(prices, judges[0])
    models = [open_model(settings.model_copy(update={"model": name})) for name in judges]
    with as_cancellation():
        return judge_run(
            folder=folder,
            submissions=submissions,
            chosen=chosen,
            tasks=tasks,
            models=models,
            plan=plan,
            config=GenerateConfig(**settings.requests()),
            connections=settings.connections,
            planned=planned,
            voted=voted,
        )
