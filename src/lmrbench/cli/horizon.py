"""`lmrbench horizon`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from typer import Option

from lmrbench.cli import options
from lmrbench.cli.derived import with_options
from lmrbench.cli.grading import select, warn_set_aside
from lmrbench.cli.report import print_report, print_report_as_json
from lmrbench.cli.terminal import say, warn
from lmrbench.errors import TaskError, UsageError
from lmrbench.grading.draw import fresh_seed
from lmrbench.grading.forging import fair_draw
from lmrbench.grading.plan import GradingPlan
from lmrbench.grading.selection import Selection
from lmrbench.models.settings import checked
from lmrbench.progress import staged
from lmrbench.report.build import build
from lmrbench.report.combine import together
from lmrbench.report.horizon import Horizon, Outcome
from lmrbench.report.measures.horizon import outcomes
from lmrbench.runs.folder import GRADES, read_run
from lmrbench.runs.places import RUNS, run_name
from lmrbench.sandbox.protocol import DEFAULT_SANDBOX
from lmrbench.sandbox.registry import open_pool
from lmrbench.tasks.loading import suite_folders
from lmrbench.tasks.model import DrawId, Task
from lmrbench.tasks.tiers.forensic import Drawn, deviation_pool


@dataclass(frozen=True)
class HorizonArguments:
    """How many tasks are solved, of which papers, and where they are graded and stored."""

    tasks: Annotated[int, Option("--tasks", metavar="N", min=1, help="Stop after this many tasks.")] = 24
    width: Annotated[
        float | None,
        Option("--width", min=1.0, help="Also stop when the interval is this narrow (upper end over lower end)."),
    ] = None
    batch: Annotated[int, Option("--batch", metavar="N", min=1, help="Choose this many tasks at a time.")] = 4
    task: Annotated[
        list[str] | None,
        Option("--task", "-t", metavar="PAPER", help="Papers to draw from; by default all with a pool of deviations."),
    ] = None
    prices: options.Prices = None
    sandbox: options.Sandbox = DEFAULT_SANDBOX
    workers: options.Workers = None
    out: Annotated[
        Path | None,
        Option("--out", metavar="DIR", help="The run folder, which may exist; by default below runs/."),
    ] = None
    suite: options.Suite = None


@with_options
def horizon(
    settings: dict[str, Any],
    asked: HorizonArguments,
    model: Annotated[
        str, Option("--model", "-m", metavar="MODEL", help="Model in Inspect's notation, such as openai/gpt-5.")
    ],
    setting: Annotated[Literal["agent"], Option("--setting", help="Forensic tasks are for agents.")] = "agent",
    json: options.Json = False,
) -> None:
    """Measure how many undocumented changes an agent can find.

    The result is its reproduction horizon: the number of changes at which it solves half of the tasks. Forensic tasks
    are drawn freshly, a few at a time. After each batch, the numbers of changes of the next ones are those whose
    outcome says most about the horizon. The command stops after --tasks tasks, or when the interval is as narrow as
    --width asks for, and prints the report of the run.

    The same command continues a run that was stopped, with new tasks. Answers that are missing because a provider or an
    agent's program failed are not counted, and the command exits with 4.
    """
    # Importing Inspect takes seconds.
    from lmrbench.report.adaptive import Budget, measured
    from lmrbench.solving.run import require_finished
    from lmrbench.solving.starting import solve_with

    chosen = checked({**settings, "model": model, "setting": setting})
    folder = asked.out or RUNS / f"{run_name(chosen.name)}-horizon"
    selection = select(asked.suite, asked.task)
    papers = {task.paper.slug: task for task in reversed(selection.chosen) if task.files.deviations}
    if not papers:
        raise UsageError("none of these papers has a deviations.toml, so there are no forensic tasks")
    plan = GradingPlan(sandbox=asked.sandbox, workers=asked.workers)

    def is_fair(task: Task, draw: DrawId) -> bool:
        try:
            opened = open_pool(asked.sandbox, suite_folders(selection.suite), asked.workers)
            with opened as pool, staged(f"{task.paper.slug}/{draw}", 1) as (_, advance):
                fair_draw(task, deviation_pool(task), draw, pool, advance)
        except (TaskError, UsageError) as error:
            warn(f"{error}; a smaller draw is tried")
            return False
        return True

    def answer(draws: Sequence[Drawn]) -> list[Outcome]:
        made = select(asked.suite, [f"{task.paper.slug}/{draw}" for task, draw in draws], sandbox=asked.sandbox).chosen
        known.extend(made)
        run = solve_with(
            settings=chosen,
            prices=asked.prices,
            tasks=Selection(tuple(known), made, selection.suite),
            folder=folder,
            plan=plan,
            set_aside=lambda count: warn_set_aside(folder, count),
        )
        return outcomes(run.grades).get(chosen.name, [])

    earlier = read_run(folder) if (folder / GRADES).exists() else None
    before = outcomes(earlier.grades).get(chosen.name, []) if earlier else []
    known = list(selection.with_tiers_of(earlier.submissions if earlier else (), asked.sandbox, staged).every)
    budget = Budget(asked.tasks, asked.width, asked.batch)
    for now in measured(chosen.name, before, papers, fresh_seed(), budget, is_fair, answer):
        say(_line(now))
    run = read_run(folder)
    if json:
        print_report_as_json(build(together([run], asked.suite)))
    else:
        print_report(build(together([run], asked.suite)))
    require_finished(run)


def _line(found: Horizon) -> str:
    return f"{found.tasks} tasks: the horizon is {found.k50:.1f} changes, between {found.low:.1f} and {found.high:.1f}"
