"""`lmrbench grade`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from lmrbench.cli import options
from lmrbench.cli.derived import with_options
from lmrbench.cli.grading import grade_with_progress, select, time_with_progress
from lmrbench.cli.terminal import print_json, say, show, warn
from lmrbench.errors import UsageError
from lmrbench.grading.plan import GradingPlan
from lmrbench.grading.records import Grade, Result, not_submitted
from lmrbench.grading.systems import BUILT_INS, BuiltIn, unexpected
from lmrbench.integrations.swebench import holds_predictions, read_predictions
from lmrbench.progress import staged
from lmrbench.report.sheets.grading import failures_sheet, missing_lines, shares_sheets, speeds_sheet
from lmrbench.runs.answers import Answers, built_in_answers, submitted_answers
from lmrbench.runs.folder import read_submissions
from lmrbench.runs.places import seeds_of
from lmrbench.sandbox.protocol import DEFAULT_SANDBOX
from lmrbench.sandbox.registry import executor_of, sandbox_name
from lmrbench.tasks.submission import Answer
from lmrbench.text import counted


@dataclass(frozen=True)
class GradeArguments:
    """Arguments of `lmrbench grade` that select the answers."""

    path: Annotated[
        Path | None, Argument(help="A file of submissions, a run folder, or predictions in the format of SWE-bench.")
    ] = None
    golden: Annotated[bool, Option("--golden", help="Grade the reference itself; it must pass all cases.")] = False
    mask: Annotated[bool, Option("--mask", help="Grade the masked repository; it must not be correct.")] = False
    rewrites: Annotated[
        bool, Option("--rewrites", help="Grade the suite's rewrites. `plain` must be correct, all others robust.")
    ] = False
    wrong: Annotated[
        bool,
        Option("--wrong", help="Grade wrong versions. None may be robust; only those marked Edge: may be correct."),
    ] = False
    nearest: Annotated[bool, Option("--nearest", help="Grade copies of the most similar function (baseline).")] = False
    most: Annotated[
        int | None, Option(min=1, help="Grade at most this many rewrites and this many wrong versions of each task.")
    ] = None
    task: options.Tasks = None
    tier: options.TierName = "function"
    fresh: options.Fresh = None
    suite: options.Suite = None
    out: Annotated[
        Path | None, Option(metavar="DIR", help="The run folder; by default below runs/. An existing one is resumed.")
    ] = None

    @property
    def built_in(self) -> list[BuiltIn]:
        """The built-in systems that are graded."""
        return [name for name in BUILT_INS if getattr(self, name)]


@dataclass(frozen=True)
class GradingOptions:
    """Options of `lmrbench grade` for the conditions of grading."""

    seed: options.Seed = None
    seeds: Annotated[
        int | None, options.advanced(min=1, max=100, help="Grade with this many fresh seeds; all cases must match.")
    ] = None
    blind: Annotated[
        bool,
        options.advanced(
            "--blind",
            help="Write no reasons, logs or case names, and draw a fresh seed. Use it for grades that submitters see.",
        ),
    ] = False
    fail_fast: Annotated[
        bool, options.advanced("--fail-fast", help="Stop at an answer's first failed case. Ordinary cases run first.")
    ] = False
    speed: Annotated[
        bool, Option("--speed", help="Also compare the speed of robust answers with the reference's, on timed inputs.")
    ] = False
    sandbox: options.Sandbox = DEFAULT_SANDBOX
    workers: options.Workers = None
    isolate: options.Isolate = False
    executor: options.ExecutorName = "local"
    address: options.Address = None

    @property
    def fresh_seeds(self) -> int | None:
        """The number of fresh seeds to draw; None to use the seed given with --seed or the installation's own."""
        return 1 if self.blind and self.seed is None and self.seeds is None else self.seeds


@with_options
def grade(asked: GradeArguments, way: GradingOptions, json: options.Json = False) -> None:
    """Grade submissions in a sandbox against the reference.

    Each line of a file of predictions has the keys instance_id, model_name_or_path and model_patch. Each line of a file
    of submissions contains a system, a task and the code, as written by `lmrbench collect`:
    {"system": "me", "task": "dpo/preference_loss", "code": "def preference_loss(...): ..."}

    Grades are written to the run folder as they are made. If the command is interrupted, run it again to resume. Exits
    with 1 if a built-in system (golden, mask, rewrites, wrong) passes or fails unexpectedly.
    """
    if (asked.path is None) == (not asked.built_in):
        raise UsageError(
            "name a file of submissions or a run folder, or one or more of --golden --mask --rewrites --wrong --nearest"
        )
    if way.seed is not None and way.seeds is not None:
        raise UsageError("--seed and --seeds can't be used together")
    executor_of(way.executor, way.address)
    if way.blind and way.speed:
        raise UsageError("--blind and --speed can't be used together: the reason for a missing speed reveals the check")
    tasks = select(asked.suite, asked.task, asked.tier, asked.fresh, way.sandbox)
    path = asked.path
    if path is None:
        answers = built_in_answers(asked.built_in, tasks, asked.most, asked.out, warn)
    else:
        submitted = read_predictions(path, tasks.by_id) if holds_predictions(path) else read_submissions(path)
        # Without --task, all tasks that have a submission are chosen.
        if not asked.task:
            tasks = tasks.with_tiers_of(submitted, way.sandbox, staged)
        answers = submitted_answers(path, submitted, tasks, asked.out, warn)
    names = answers.tasks.names
    if not answers.submissions:
        what = path or ", ".join(asked.built_in)
        raise UsageError(f"{what}: no submission for {', '.join(sorted(names))}")
    seeds = seeds_of(answers.folder, way.seed, way.fresh_seeds)
    results, whole = _graded(answers, way, seeds, shared=path is None, keep=json)
    missing = not_submitted(results, names)
    if json:
        grades = [whole[item.answer].model_dump(mode="json") for item in results]
        print_json({"run": str(answers.folder), "seeds": seeds, "not_submitted": missing, "grades": grades})
    else:
        _print(results, answers.folder, asked, way, seeds)
        say(*missing_lines(missing, len(names)))
    if amiss := unexpected(results, asked.built_in, answers.tasks.by_id):
        warn(*amiss)
        raise typer.Exit(1)


def _graded(
    answers: Answers, way: GradingOptions, seeds: Sequence[int], shared: bool, keep: bool
) -> tuple[list[Result], dict[Answer, Grade]]:
    """Grade and, with --speed, time the answers.

    Returns:
        The results in the order of the submissions, and complete grades by answer. With `keep`, these are the grades of
        all answers; without it, only those that --speed needs.
    """
    results: dict[Answer, Result] = {}
    whole: dict[Answer, Grade] = {}
    plan = GradingPlan(
        tuple(seeds),
        fresh_seeds=way.fresh_seeds is not None,
        fail_fast=way.fail_fast,
        blind=way.blind,
        sandbox=way.sandbox,
        executor=executor_of(way.executor, way.address),
        workers=way.workers,
        isolate=way.isolate,
        shared=shared,
    )
    for made in grade_with_progress(answers.folder, answers.submissions, answers.tasks, plan, answers.source):
        results[made.answer] = Result.of(made)
        if keep or (way.speed and made.robust):
            whole[made.answer] = made
    if way.speed:
        grades = list(whole.values())
        for made in time_with_progress(answers.folder, grades, answers.submissions, answers.tasks, way.sandbox):
            whole[made.answer], results[made.answer] = made, Result.of(made)
    return [results[item.answer] for item in answers.submissions], whole


def _print(
    results: Sequence[Result], folder: Path, asked: GradeArguments, way: GradingOptions, seeds: Sequence[int]
) -> None:
    show(*shares_sheets(results))
    if failures := failures_sheet(results, asked.built_in):
        show(failures)
        say(f"`lmrbench why {folder} TASK` shows all failed cases of an answer")
    show(speeds_sheet(results))
    where = f"sandbox {sandbox_name(way.sandbox)}, seed {', '.join(map(str, seeds))}"
    say(f"{counted(len(results), 'grade')} in {folder} ({where})")
