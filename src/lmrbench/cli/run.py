"""`lmrbench run`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Option

from lmrbench.cli import options
from lmrbench.cli.derived import with_options
from lmrbench.cli.grading import grade_with_progress, select
from lmrbench.cli.report import print_report
from lmrbench.cli.terminal import say, show, warn
from lmrbench.errors import LmrbenchError, UsageError
from lmrbench.grading.plan import GradingPlan
from lmrbench.grading.selection import Selection
from lmrbench.models.settings import Settings, checked
from lmrbench.progress import staged
from lmrbench.report.build import build
from lmrbench.report.combine import together
from lmrbench.report.measures.progress import first_right, first_right_sheets
from lmrbench.runs.answers import answers_without_model
from lmrbench.runs.folder import Run, read_run, require_finished, set_aside_message
from lmrbench.runs.places import RUNS, folder_of_model
from lmrbench.sandbox.protocol import DEFAULT_SANDBOX


@dataclass(frozen=True)
class RunArguments:
    """Options of `lmrbench run` for the choice of tasks, grading and storage."""

    task: options.Tasks = None
    limit: Annotated[int | None, Option("--limit", metavar="N", min=1, help="Run only the first N tasks.")] = None
    tier: options.TierName = "function"
    fresh: options.Fresh = None
    prices: options.Prices = None
    seed: options.Seed = None
    sandbox: options.Sandbox = DEFAULT_SANDBOX
    workers: options.Workers = None
    out: Annotated[
        Path | None,
        Option(
            "--out",
            metavar="DIR",
            help="The run folder; by default in runs/. With several models, the parent of their run folders. An "
            "existing run is resumed.",
        ),
    ] = None
    suite: options.Suite = None


@with_options
def run(
    settings: Annotated[dict[str, Any], Settings],
    asked: RunArguments,
    model: Annotated[
        list[str] | None,
        Option(
            "--model",
            "-m",
            metavar="MODEL",
            help="Model in Inspect's notation: openai/gpt-5, anthropic/..., vllm/..., ollama/... May be repeated.",
        ),
    ] = None,
    no_report: Annotated[bool, Option("--no-report", help="Print only the number of passing answers.")] = False,
    json: options.Json = False,
) -> None:
    """Solve tasks, grade the answers and report the results.

    The report has one row per system: correct and robust answers, a 95% interval, unanswered samples and cost.
    `lmrbench report RUN --full` adds tables by category and task. Several models run one after the other, each in a run
    folder of its own; if one fails, the others still run. Without --model, the systems that need no model are run:
    golden (the reference), mask (no answer), nearest (a copy of the most similar function in the workspace) and, for
    forensic tasks, search (generic edits).

    A run folder contains submissions.jsonl, grades.jsonl, usage.jsonl and Inspect's logs (`inspect view --log-dir
    DIR/logs`). If the command is interrupted, run it again to resume; finished answers are not requested again. Answers
    that are missing because a provider or an agent's program failed are not counted, and the command exits with 4; run
    it again to request them.
    """
    models = model or []
    if twice := [name for name in models if models.count(name) > 1]:
        raise UsageError(f"--model {twice[0]} is given twice; give each model once")
    if len(models) > 1 and settings.get("system"):
        raise UsageError(f"--system {settings['system']} can't be used with several models; leave it out")
    done = [] if models else [_built_ins(settings, asked)]
    failures: list[LmrbenchError] = []
    for name in models:
        try:
            chosen = checked({**settings, "model": name})
            folder = folder_of_model(name, models, chosen.setting, chosen.system, asked.out)
            done.append(_solved(chosen, asked, folder))
            require_finished(done[-1])
        except LmrbenchError as error:
            failures.append(error)
            if len(models) > 1:
                warn(f"{name}: {error}")
    if done:
        _print(done, asked, no_report, json)
    if len(models) == 1 and failures:
        raise failures[0]
    if failures:
        raise typer.Exit(failures[0].exit_code)


def _print(done: list[Run], asked: RunArguments, no_report: bool, json: bool) -> None:
    if no_report and not json:
        for item in done:
            if item.grades:
                show(*first_right_sheets(first_right(item.snapshots)))
                passed = sum(grade.correct for grade in item.grades)
                say(f"{passed} of {len(item.grades)} answers pass; the run is in {item.folder}")
    elif json or any(item.grades for item in done):
        print_report(build(together(done, asked.suite)), json=json)


def _solved(settings: Settings, asked: RunArguments, folder: Path) -> Run:
    """Let a model solve the chosen tasks, and return the run."""
    # Imported here, because importing Inspect takes seconds.
    from lmrbench.solving.starting import solve_with

    return solve_with(
        settings=settings,
        prices=asked.prices,
        tasks=_tasks(asked),
        folder=folder,
        plan=_plan(asked),
        set_aside=lambda count: warn(set_aside_message(folder, count)),
    )


def _plan(asked: RunArguments) -> GradingPlan:
    return GradingPlan(() if asked.seed is None else (asked.seed,), sandbox=asked.sandbox, workers=asked.workers)


def _tasks(asked: RunArguments) -> Selection:
    found = select(asked.suite, asked.task, asked.tier, asked.fresh, asked.sandbox, asked.limit).with_checks(warn)
    return replace(found, chosen=found.chosen[: asked.limit])


def _built_ins(given: dict[str, Any], asked: RunArguments) -> Run:
    """Grade the answers of the systems that need no model, and return the run."""
    set_here = [name for name, value in given.items() if value != Settings.model_fields[name].default]
    if unused := [*set_here, *(["prices"] if asked.prices is not None else [])]:
        raise UsageError(f"--{unused[0].replace('_', '-')} needs --model")
    tasks = _tasks(asked)
    folder = asked.out or RUNS / "built-in"
    submissions = answers_without_model(folder, tasks, asked.sandbox, asked.workers, staged)
    made = grade_with_progress(folder, submissions, tasks, replace(_plan(asked), shared=True))
    grades = {item.answer: item for item in made}
    return replace(read_run(folder), grades=tuple(grades[item.answer] for item in submissions))
