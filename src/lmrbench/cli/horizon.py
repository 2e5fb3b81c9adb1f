"""`lmrbench horizon`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from typer import Option

from lmrbench.cli import options
from lmrbench.cli.derived import with_options
from lmrbench.cli.grading import select
from lmrbench.cli.report import print_report
from lmrbench.cli.terminal import say, warn
from lmrbench.grading.plan import GradingPlan
from lmrbench.models.settings import Settings, checked
from lmrbench.progress import staged
from lmrbench.report.adaptive import Budget
from lmrbench.report.build import build
from lmrbench.report.combine import together
from lmrbench.runs.folder import read_run, require_finished, set_aside_message
from lmrbench.runs.places import RUNS, run_name
from lmrbench.sandbox.protocol import DEFAULT_SANDBOX


@dataclass(frozen=True)
class HorizonArguments:
    """Options of `lmrbench horizon` for the number and choice of tasks, grading and storage."""

    tasks: Annotated[int, Option("--tasks", metavar="N", min=1, help="Stop after this many tasks.")] = 24
    width: Annotated[
        float | None, Option("--width", min=1.0, help="Also stop if the interval's ends differ by at most this factor.")
    ] = None
    batch: Annotated[int, Option("--batch", metavar="N", min=1, help="Number of tasks in a batch.")] = 4
    task: Annotated[
        list[str] | None,
        Option("--task", "-t", metavar="PAPER", help="Papers to draw tasks from; by default all with deviations."),
    ] = None
    prices: options.Prices = None
    sandbox: options.Sandbox = DEFAULT_SANDBOX
    workers: options.Workers = None
    out: Annotated[
        Path | None, Option("--out", metavar="DIR", help="The run folder, new or to continue; by default in runs/.")
    ] = None
    suite: options.Suite = None


@with_options
def horizon(
    settings: Annotated[dict[str, Any], Settings],
    asked: HorizonArguments,
    model: Annotated[
        str, Option("--model", "-m", metavar="MODEL", help="Model in Inspect's notation, such as openai/gpt-5.")
    ],
    setting: Annotated[
        Literal["agent"], Option("--setting", help="How tasks are solved; only agents solve forensic tasks.")
    ] = "agent",
    json: options.Json = False,
) -> None:
    """Measure how many undocumented changes an agent can find.

    The result is the agent's reproduction horizon: the number of changes at which it solves half of the tasks. New
    forensic tasks are drawn in batches. The numbers of changes in each batch are chosen so that the results are
    most informative about the horizon. At the end, the report of the run is printed.

    If the command is interrupted, run it again to continue with new tasks. Answers that are missing because a provider
    or an agent's program failed are not counted, and the command exits with 4.
    """
    # Imported here, because importing Inspect takes seconds.
    from lmrbench.report.horizon_run import measure_horizon

    chosen = checked({**settings, "model": model, "setting": setting})
    folder = asked.out or RUNS / f"{run_name(chosen.name)}-horizon"
    found = measure_horizon(
        settings=chosen,
        prices=asked.prices,
        tasks=select(asked.suite, asked.task),
        folder=folder,
        plan=GradingPlan(sandbox=asked.sandbox, workers=asked.workers),
        budget=Budget(asked.tasks, asked.width, asked.batch),
        stages=staged,
        warn=warn,
        set_aside=lambda count: warn(set_aside_message(folder, count)),
    )
    for now in found:
        say(f"tasks: {now.tasks}; horizon: {now.k50:.1f} changes (95% interval {now.low:.1f} to {now.high:.1f})")
    run = read_run(folder)
    print_report(build(together([run], asked.suite)), json=json)
    require_finished(run)
