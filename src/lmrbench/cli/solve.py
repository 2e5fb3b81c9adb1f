"""`lmrbench solve` and `lmrbench run`: what does a model or an agent answer, and how good is that?"""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lmrbench.cli.derived import with_settings
from lmrbench.cli.grade import grade_with_progress, say_set_aside
from lmrbench.cli.interrupt import as_keyboard_interrupt
from lmrbench.cli.options import (
    RUNS,
    FreshOption,
    JsonOption,
    SandboxOption,
    SeedOption,
    SuiteOption,
    TasksOption,
    TierOption,
    WorkersOption,
    load_all_and_some,
    run_name,
    with_checks,
)
from lmrbench.cli.report import print_findings, print_findings_as_json
from lmrbench.cli.terminal import console, say
from lmrbench.progress import is_quiet
from lmrbench.report.findings import together
from lmrbench.report.render.tables import show
from lmrbench.sandbox.protocol import DEFAULT_SANDBOX
from lmrbench.tasks.loading import suite_folder

if TYPE_CHECKING:
    from lmrbench.runs.folder import Run


@dataclass(frozen=True)
class Asked:
    """What is asked, and where its answers are graded and kept: the options that `solve` and `run` share."""

    task: TasksOption = None
    tier: TierOption = "function"
    fresh: FreshOption = None
    prices: Annotated[
        Path | None,
        typer.Option("--prices", metavar="FILE", help="JSON: dollars per million tokens, by model."),
    ] = None
    seed: SeedOption = None
    sandbox: SandboxOption = DEFAULT_SANDBOX
    workers: WorkersOption = None
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", metavar="DIR", help="The run folder; by default below runs/. An existing one is resumed."
        ),
    ] = None
    suite: SuiteOption = None


@with_settings
def solve(settings: dict[str, Any], asked: Asked, json: JsonOption = False) -> None:
    """Ask a model or an agent for every task, and grade what it answers.

    The run folder holds submissions.jsonl, grades.jsonl, usage.jsonl and Inspect's logs (`inspect view --log-dir
    DIR/logs`). The same command resumes a run that was stopped, and asks nothing twice. Where the provider or an
    agent's program failed, nothing is counted, and the command exits with 4; the same command then asks again.
    """
    from lmrbench.errors import UsageError

    if not settings.get("model"):
        raise UsageError("--model is needed: whom to ask, as openai/gpt-5")
    run = _solved(settings, asked)
    if json:
        print_findings_as_json(together([run], asked.suite))
    elif run.grades:
        from lmrbench.report.measures.progress import first_right, first_right_sheets

        passed = sum(item.passed for item in run.grades)
        for item in first_right_sheets(first_right(run.snapshots)):
            show(item, console())
        say(f"{passed} of {len(run.grades)} answers pass; the run is in {run.folder}")
    _require_finished(run)


@with_settings
def run(settings: dict[str, Any], asked: Asked, json: JsonOption = False) -> None:
    """Solve, grade, report: rates with 95% intervals, per category and task, how answers ended, costs and times.

    Without --model the systems that need none: golden (the reference), mask (nothing), and nearest, which copies the
    most similar function of the workspace.
    """
    answers = _solved if settings.get("model") else _built_ins
    done = answers(settings, asked)
    if json:
        print_findings_as_json(together([done], asked.suite))
    elif done.grades:
        print_findings(together([done], asked.suite))
    if settings.get("model"):
        _require_finished(done)


def _require_finished(run: Run) -> None:
    from lmrbench.solving.run import require_finished

    require_finished(run)


def _solved(given: dict[str, Any], asked: Asked) -> Run:
    """What a run folder holds once everything has been asked for."""
    from lmrbench.errors import UsageError
    from lmrbench.files import locked
    from lmrbench.grading.grader import Grader
    from lmrbench.grading.plan import GradingPlan
    from lmrbench.models import opening
    from lmrbench.models.settings import checked
    from lmrbench.solving import run as runs

    settings = checked(given)
    if settings.cost_limit is not None and asked.prices is None:
        raise UsageError("--cost-limit needs --prices")
    tasks, chosen = load_all_and_some(asked.suite, asked.task, asked.tier, asked.fresh, asked.sandbox)
    chosen = with_checks(chosen)
    if asked.prices is not None:
        settings = settings.model_copy(update={"prices": opening.set_prices(asked.prices, settings.model)})
        if settings.cost_limit is not None and not settings.prices:
            raise UsageError(f"--cost-limit: {asked.prices} has no prices of {settings.model}")
    model = opening.open_model(settings)
    settings = settings.model_copy(update={"base_url": opening.address(model)})
    # Of a model's name, what stands before the last slash names its provider.
    folder = asked.out or RUNS / run_name(settings.system or f"{settings.model.rpartition('/')[2]}-{settings.setting}")
    place = suite_folder(asked.suite).resolve()
    shown = sys.stderr.isatty() and sys.stdout.isatty() and not is_quiet()
    plan = GradingPlan(() if asked.seed is None else (asked.seed,), sandbox=asked.sandbox, workers=asked.workers)
    with locked(folder), as_keyboard_interrupt(), Grader({item.id: item for item in tasks}, plan) as grader:
        return runs.solve(
            folder=folder,
            settings=settings,
            model=model,
            grader=grader,
            chosen=chosen,
            suite=place,
            display="rich" if shown else "none",
            set_aside=lambda count: say_set_aside(folder, count),
        )


def _built_ins(given: dict[str, Any], asked: Asked) -> Run:
    from lmrbench.errors import UsageError
    from lmrbench.grading.plan import GradingPlan
    from lmrbench.grading.systems import BuiltIn, submissions_of
    from lmrbench.models.settings import Settings
    from lmrbench.runs.folder import read_run

    set_here = [name for name, value in given.items() if value != Settings.model_fields[name].default]
    if unused := [*set_here, *(["prices"] if asked.prices is not None else [])]:
        raise UsageError(f"--{unused[0].replace('_', '-')} needs --model")
    every_task, chosen = load_all_and_some(asked.suite, asked.task, asked.tier, asked.fresh, asked.sandbox)
    chosen = with_checks(chosen)
    systems: tuple[BuiltIn, ...] = ("golden", "mask", "nearest")
    submissions = [item for system in systems for item in submissions_of(system, chosen)]
    folder = asked.out or RUNS / "built-in"
    seeds = () if asked.seed is None else (asked.seed,)
    plan = GradingPlan(seeds, sandbox=asked.sandbox, workers=asked.workers, shared=True)
    made = grade_with_progress(folder, submissions, every_task, plan)
    grades = {item.answer: item for item in made}
    return replace(read_run(folder), grades=tuple(grades[item.answer] for item in submissions))
