"""Select tasks and grade answers, with progress on standard error."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path

from lmrbench.cli.terminal import warn
from lmrbench.grading.grader import Grader
from lmrbench.grading.plan import GradingPlan
from lmrbench.grading.records import Grade
from lmrbench.grading.selection import Selection
from lmrbench.grading.selection import select as select_tasks
from lmrbench.grading.speed import has_timed_inputs
from lmrbench.progress import progress_bars, staged
from lmrbench.runs.folder import changed_tasks, set_aside_message
from lmrbench.runs.grading import grade_run, time_run
from lmrbench.sandbox.registry import open_pool
from lmrbench.tasks.loading import suite_folders
from lmrbench.tasks.model import Task
from lmrbench.tasks.selection import only
from lmrbench.tasks.submission import Submission

# Load a suite and choose tasks, with progress.
select = partial(select_tasks, staged)


def select_one(suite: Path | None, name: str) -> Task:
    """Return the task that a name selects. Raises TaskError unless the name selects exactly one task."""
    return only(select(suite, [name]).chosen, name)


def grade_with_progress(
    folder: Path, submissions: Sequence[Submission], tasks: Selection, plan: GradingPlan, source: str | None = None
) -> Iterator[Grade]:
    """Grade submissions into a run folder and yield the grades as they are made; see `grade_run`."""
    if folder.is_dir() and (changed := changed_tasks(folder, tasks.every)):
        warn(f"{folder}: these tasks changed after grading, so their grades are outdated: {', '.join(changed)}")
    with Grader(tasks.by_id, plan) as grader, progress_bars() as bars:
        goldens = bars.add_task("golden", total=len({item.task for item in submissions}) * len(grader.seeds))
        bar = bars.add_task("submissions", total=len(submissions))
        for item in grade_run(
            folder=folder,
            submissions=submissions,
            grader=grader,
            observed=lambda *_: bars.advance(goldens),
            set_aside=lambda count: warn(set_aside_message(folder, count)),
            source=source,
        ):
            bars.advance(bar)
            yield item


def time_with_progress(
    folder: Path, grades: Iterable[Grade], submissions: Sequence[Submission], tasks: Selection, sandbox: str
) -> Iterator[Grade]:
    """Time the robust answers whose tasks have timed inputs, and yield their grades with timings."""
    known = tasks.by_id
    due = [item for item in grades if item.robust and has_timed_inputs(known[item.task])]
    if not due:
        warn("no task with timed inputs has a robust answer, so no speed is measured")
    # Only one worker is used, so that no other job runs during a measurement.
    with open_pool(sandbox, suite_folders(tasks.suite), 1) as pool, progress_bars() as bars:
        yield from bars.track(time_run(folder, due, submissions, known, pool), len(due), description="speed")
