"""Run one system on the suite: Inspect's `eval_set` collects answers, which are graded as they arrive.

The run folder contains the files that `lmrbench grade` writes, `usage.jsonl`, Inspect's logs in `logs/`, and, if
snapshots of agents' workspaces were taken, `progress.jsonl`. Model output is cached in `cache/`, so that a resumed run
repeats no request. A sample (one attempt at a task) that has no answer because the provider or this machine failed has
a line in `usage.jsonl` but no grade. Running the same command again retries it.
"""

from __future__ import annotations

import io
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import replace
from pathlib import Path

from inspect_ai import eval_set
from inspect_ai._util.error import PrerequisiteError  # inspect-evals-lint: ignore[private_api_imports] -- no public one
from inspect_ai.model import CachePolicy, Model

from lmrbench.errors import RecordError
from lmrbench.grading.grader import Grader
from lmrbench.jsonl import read_lines
from lmrbench.models.endings import one_line
from lmrbench.models.opening import reason_of
from lmrbench.models.settings import TASK_FIELDS, Settings
from lmrbench.runs.folder import (
    LOGS,
    SUBMISSIONS,
    Run,
    read_facts,
    read_run,
    run_facts,
    write_facts,
    write_submissions,
)
from lmrbench.runs.grading import grade_into, take_over
from lmrbench.runs.records import RunFacts
from lmrbench.solving.board import Board, board_of_run
from lmrbench.solving.scoring import SampleGrader, grader_of_run
from lmrbench.solving.task import epochs_of, lmr_bench
from lmrbench.solving.usage import write_usage
from lmrbench.tasks.model import Task
from lmrbench.tasks.submission import Answer, Submission

CACHE = "cache"


def solve(
    folder: Path,
    settings: Settings,
    model: Model,
    grader: Grader,
    chosen: Sequence[Task],
    suite: Path,
    set_aside: Callable[[int], None] = lambda count: None,
) -> Run:
    """Ask the model for the answers that the run folder lacks, and grade them.

    Args:
        folder: a new run folder, or one to resume.
        settings: the conditions of the run.
        model: the model to ask.
        grader: the grader of the whole suite.
        chosen: the tasks to solve.
        suite: the suite's folder.
        set_aside: a function that is called with the number of grades in the folder that another installation made, if
            there are any. These grades are moved to `grades.unverified.jsonl`.

    Returns:
        The run, reduced to the chosen tasks and samples.

    Raises:
        RecordError: the folder contains answers that were made under other conditions.
    """
    _check_conditions(folder, settings)
    write_facts(folder, run_facts(grader.tasks.values(), chosen, grader.seeds, grader.sandbox, settings.recorded()))
    expected = {(task.id, sample) for task in chosen for sample in range(settings.samples)}
    held, foreign = take_over(folder)
    if foreign:
        set_aside(foreign)
    graded = {Answer(terms.system, terms.task, terms.sample): data for terms, data in held.items()}
    board = Board(expected, {(item.task, item.sample): item.correct for item in read_run(folder).grades})
    # Output that Inspect prints is discarded, because standard output is reserved for lmrbench's own results.
    quiet, reporting = redirect_stdout(io.StringIO()), _reporting(SampleGrader(grader, folder, graded), board)
    with quiet, board.shown(), _cached_in(folder / CACHE), reporting:
        stopped = _evaluate(folder, settings, model, chosen, suite)
    usages = write_usage(folder, settings.name, expected, stopped)
    # If the log of a sample was lost when the run was killed, the sample has two submissions, and the last one counts.
    submissions = {(item.task, item.sample): item for item in read_lines(folder / SUBMISSIONS, Submission)}
    write_submissions(folder, list(submissions.values()))
    # Answers that were graded with other seeds or by another installation are graded again, with the seeds of the run.
    for _ in grade_into(folder, list(submissions.values()), grader, set_aside=set_aside):
        pass
    run = read_run(folder)
    grades = tuple(item for item in run.grades if (item.task, item.sample) in expected)
    snapshots = tuple(item for item in run.snapshots if (item.task, item.sample) in expected)
    return replace(run, grades=grades, usages=tuple(usages), snapshots=snapshots)


def _evaluate(folder: Path, settings: Settings, model: Model, chosen: Sequence[Task], suite: Path) -> str:
    """Have Inspect evaluate the chosen tasks, and return the reason why samples may be missing from its logs."""
    # Inspect identifies an evaluation by its arguments. In these, the number of samples is always 1, so that a run can
    # be extended by further samples.
    arguments = settings.model_copy(update={"system": settings.name, "samples": 1})
    wanted = lmr_bench(
        tasks=[task.id for task in chosen],
        suite=str(suite),
        **arguments.model_dump(mode="json", include=set(TASK_FIELDS)),
    )
    try:
        _, logs = eval_set(
            wanted,
            log_dir=str(folder / LOGS),
            model=model,
            display="none",
            # Write every sample to disk as soon as it is done.
            log_buffer=1,
            log_realtime=False,
            # If a sample fails, the others go on. The failed sample is retried when the command is run again.
            fail_on_error=True,
            continue_on_fail=True,
            retry_attempts=1,
            retry_immediate=False,
            log_dir_allow_dirty=True,
            cache=CachePolicy(expiry=None),
            epochs=epochs_of(settings.samples),
            token_limit=settings.token_limit,
            cost_limit=settings.cost_limit,
            max_samples=settings.connections,
            **settings.requests(),
            **settings.generation(),
        )
    except PrerequisiteError as error:
        raise RecordError(reason_of(error)) from error
    return next((one_line(log.error.message) for log in logs if log.error), "the sample was not run")


def _check_conditions(folder: Path, settings: Settings) -> None:
    """Raise RecordError if a folder contains answers that were made under other conditions.

    If the conditions differ but the folder contains no answers, its logs are deleted.
    """
    before = read_facts(folder)
    if before is None or not (other := _other_conditions(before, settings)):
        return
    if (folder / SUBMISSIONS).exists() and (folder / SUBMISSIONS).stat().st_size:
        raise RecordError(
            f"{folder} contains answers made with other settings ({', '.join(other)}); use the same settings, "
            "or name another folder with --out"
        )
    shutil.rmtree(folder / LOGS, ignore_errors=True)


def _other_conditions(before: RunFacts, settings: Settings) -> list[str]:
    """Return the differences between the settings of a stored run and the given ones, each as a short text."""
    if before.solving is None:
        return ["no model was asked"]
    earlier, wanted = (Settings.model_validate(item) for item in (before.solving, settings.recorded()))
    # A run may be extended by further samples of each task, so the number of samples may be larger than before.
    grown = earlier.model_copy(update={"samples": max(earlier.samples, wanted.samples)})
    asked = wanted.conditions
    return [
        f"{key} {value}, not {asked[key]}" if isinstance(value, str | int | float) else key
        for key, value in grown.conditions.items()
        if asked[key] != value
    ]


@contextmanager
def _cached_in(folder: Path) -> Iterator[None]:
    """Set the environment variable that makes Inspect cache model output in a folder."""
    name = "INSPECT_CACHE_DIR"
    before = os.environ.get(name)
    os.environ[name] = str(folder.resolve())
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before


@contextmanager
def _reporting(grader: SampleGrader, board: Board) -> Iterator[None]:
    """While the context is open, make scorers use a grader, and make solvers and scorers report to a board."""
    of_grader, of_board = grader_of_run.set(grader), board_of_run.set(board)
    try:
        yield
    finally:
        grader_of_run.reset(of_grader)
        board_of_run.reset(of_board)
