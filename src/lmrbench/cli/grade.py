"""`lmrbench grade`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from lmrbench.cli import options
from lmrbench.cli.grading import grade_with_progress, select, time_with_progress
from lmrbench.cli.options import print_json
from lmrbench.cli.terminal import say, show, staged, warn
from lmrbench.errors import UsageError
from lmrbench.grading.plan import GradingPlan
from lmrbench.grading.records import Grade, Result, not_submitted
from lmrbench.grading.selection import Selection
from lmrbench.grading.systems import BUILT_INS, BuiltIn, submissions_of, unexpected
from lmrbench.integrations.swebench import holds_predictions, read_predictions
from lmrbench.report.sheets.grading import failures_sheet, missing_lines, shares_sheets, speeds_sheet
from lmrbench.runs.folder import read_submissions, require_known
from lmrbench.runs.places import RUNS, require_built_in, run_name, seeds_of, source_of
from lmrbench.sandbox.protocol import DEFAULT_SANDBOX
from lmrbench.sandbox.registry import executor_of
from lmrbench.tasks.submission import Answer, Submission
from lmrbench.text import counted


def grade(
    path: Annotated[
        Path | None,
        Argument(
            help="A file of submissions (JSON lines; see `lmrbench collect`), a run folder, or predictions in the "
            "format of SWE-bench (JSON lines with instance_id, model_name_or_path, model_patch)."
        ),
    ] = None,
    golden: Annotated[bool, Option("--golden", help="Grade the reference itself; it must pass.")] = False,
    mask: Annotated[bool, Option("--mask", help="Grade the masked repository as it is; it must fail.")] = False,
    rewrites: Annotated[bool, Option("--rewrites", help="Grade the suite's rewrites; they must pass.")] = False,
    wrong: Annotated[bool, Option("--wrong", help="Grade the suite's wrong versions; they must fail.")] = False,
    nearest: Annotated[
        bool, Option("--nearest", help="Grade a solver without a model, which copies the most similar function.")
    ] = False,
    most: Annotated[
        int | None, Option(min=1, help="Grade at most this many rewrites, and wrong versions, of each task.")
    ] = None,
    task: options.Tasks = None,
    tier: options.TierName = "function",
    fresh: options.Fresh = None,
    seed: options.Seed = None,
    seeds: Annotated[
        int | None, options.advanced(min=1, max=100, help="Draw this many fresh seeds; an answer must pass under each.")
    ] = None,
    blind: Annotated[
        bool,
        options.advanced(
            "--blind",
            help="Write no reasons, logs and names of cases, and draw a fresh seed: for grades that submitters get.",
        ),
    ] = False,
    fail_fast: Annotated[
        bool,
        options.advanced(
            "--fail-fast", help="Stop each answer at its first failed case: faster, if only passed or failed matters."
        ),
    ] = False,
    speed: Annotated[
        bool,
        Option(
            "--speed",
            help="Also compare the speed of passing answers with the reference's, for tasks with timed inputs.",
        ),
    ] = False,
    out: Annotated[
        Path | None, Option(metavar="DIR", help="The run folder; by default below runs/. An existing one is resumed.")
    ] = None,
    sandbox: options.Sandbox = DEFAULT_SANDBOX,
    workers: options.Workers = None,
    isolate: options.Isolate = False,
    executor: options.ExecutorName = "local",
    address: options.Address = None,
    suite: options.Suite = None,
    json: options.Json = False,
) -> None:
    """Grade submissions in a sandbox against the reference.

    Each line of a file of submissions names a system, a task and its code, as `lmrbench collect` writes it:
    {"system": "me", "task": "dpo/preference_loss", "code": "def preference_loss(...): ..."}

    Grades are written to the run folder as they are made. The same command resumes a grading that was killed. Exits
    with 1 if a built-in system (golden, mask, rewrites, wrong) was graded otherwise than it must be.
    """
    chosen: list[BuiltIn] = [
        name for name, wanted in zip(BUILT_INS, (golden, mask, rewrites, wrong, nearest), strict=True) if wanted
    ]
    if (path is None) == (not chosen):
        raise UsageError(
            "name a file of submissions or a run folder, or one or more of --golden --mask --rewrites --wrong --nearest"
        )
    if seed is not None and seeds is not None:
        raise UsageError("--seed and --seeds can't be used together")
    where = executor_of(executor, address)
    if blind and speed:
        raise UsageError("--blind and --speed can't be used together: why an answer has no speed tells of the check")
    tasks = select(suite, task, tier, fresh, sandbox)
    if path is None:
        tasks = tasks.with_checks(warn)
        offered = (item for name in chosen for item in submissions_of(name, tasks.chosen))
        submissions = [item for item in offered if most is None or item.sample < most]
        folder, source = out or RUNS / "-".join(chosen), None
        if out is None:
            require_built_in(folder)
    else:
        tasks, submitted = _submitted(path, tasks, bool(task), sandbox)
        names = tasks.names
        submissions = [item for item in submitted if item.task in names]
        folder = out or (path if path.is_dir() else RUNS / run_name(path.stem))
        source, others = source_of(folder, path, submitted, merge=out is not None)
        if others:
            warn(f"{folder}: also holds {counted(len(others), 'answer')} that {path} does not hold")
    names = tasks.names
    if not submissions:
        raise UsageError(f"{path or ', '.join(chosen)}: no submission for {', '.join(sorted(names))}")
    fresh_seeds = 1 if blind and seed is None and seeds is None else seeds
    drawn = seeds_of(folder, seed, fresh_seeds)
    results: dict[Answer, Result] = {}
    whole: dict[Answer, Grade] = {}
    plan = GradingPlan(
        drawn,
        fresh_seeds=fresh_seeds is not None,
        fail_fast=fail_fast,
        blind=blind,
        sandbox=sandbox,
        executor=where,
        workers=workers,
        isolate=isolate,
        shared=path is None,
    )
    for made in grade_with_progress(folder, submissions, tasks, plan, source):
        results[made.answer] = Result.of(made)
        if json or (speed and made.passed):
            whole[made.answer] = made
    if speed:
        for made in time_with_progress(folder, list(whole.values()), submissions, tasks, sandbox):
            whole[made.answer], results[made.answer] = made, Result.of(made)
    ordered = [results[item.answer] for item in submissions]
    missing = not_submitted(ordered, names)
    if json:
        grades = [whole[item.answer].model_dump(mode="json") for item in ordered]
        print_json({"run": str(folder), "seeds": drawn, "not_submitted": missing, "grades": grades})
    else:
        show(*shares_sheets(ordered))
        if failures := failures_sheet(ordered, chosen):
            show(failures)
            say(f"`lmrbench why {folder} TASK` shows all failed cases of an answer")
        show(speeds_sheet(ordered))
        say(f"{counted(len(ordered), 'grade')} in {folder} (sandbox {sandbox}, seed {', '.join(map(str, drawn))})")
        for line in missing_lines(missing, len(names)):
            say(line)
    if amiss := unexpected(ordered, chosen):
        for line in amiss:
            warn(line)
        raise typer.Exit(1)


def _submitted(path: Path, tasks: Selection, named: bool, sandbox: str) -> tuple[Selection, list[Submission]]:
    """Read a file of submissions, and choose the tasks that have answers unless some are named."""
    submitted = read_predictions(path, tasks.by_id) if holds_predictions(path) else read_submissions(path)
    if not named:
        tasks = tasks.with_tiers_of(submitted, sandbox, staged)
    require_known(path, submitted, tasks.by_id)
    return tasks.with_checks(warn, {item.task for item in submitted}), submitted
