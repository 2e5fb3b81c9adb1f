"""Select tasks and grade answers, with progress on standard error."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from lmrbench.cli.terminal import progress, staged, warn
from lmrbench.errors import UsageError
from lmrbench.grading.forging import forged
from lmrbench.grading.records import Grade
from lmrbench.grading.speed import has_timed_inputs
from lmrbench.runs.folder import UNVERIFIED, changed_tasks, grade_run, time_run
from lmrbench.sandbox.protocol import DEFAULT_SANDBOX, LOCAL, Executor
from lmrbench.sandbox.registry import open_executor, open_pool
from lmrbench.tasks.loading import load_suite, suite_folder, suite_folders
from lmrbench.tasks.model import Task, Tier
from lmrbench.tasks.selection import gradable, of_answered_tiers, only
from lmrbench.tasks.submission import Submission
from lmrbench.tasks.tiers.forensic import Drawn, asked_for, is_forensic


@dataclass(frozen=True)
class Tasks:
    """The tasks of a suite that a command is called for.

    Attributes:
        every: All tasks of the suite, and the forensic tasks that were made for the command.
        chosen: The tasks that were named.
        suite: The folder of the suite.
    """

    every: tuple[Task, ...]
    chosen: tuple[Task, ...]
    suite: Path

    @property
    def by_id(self) -> dict[str, Task]:
        """All tasks, by id."""
        return {task.id: task for task in self.every}

    def with_checks(self) -> Tasks:
        """Leave out the chosen tasks without a check, with a warning. Raises TaskError if none is left."""
        kept, message = gradable(self.chosen)
        if message:
            warn(message)
        return Tasks(self.every, kept, self.suite)

    def answered_with_checks(self, answered: Collection[str]) -> Tasks:
        """Leave out the chosen tasks without a check, with a warning on those that have an answer."""
        _, message = gradable([task for task in self.chosen if task.id in answered])
        if message:
            warn(message)
        return Tasks(self.every, tuple(task for task in self.chosen if task.files.check), self.suite)

    def with_tiers_of(self, submissions: Iterable[Submission], sandbox: str) -> Tasks:
        """Choose the tiers that have answers, and make the forensic tasks that do."""
        answered = {item.task for item in submissions}
        drawn = sorted(filter(is_forensic, answered))
        made = _forged(asked_for(self.every, drawn)[1] if drawn else (), self.suite, sandbox)
        return Tasks((*self.every, *made), (*of_answered_tiers(self.every, answered), *made), self.suite)


def select(
    suite: Path | None,
    patterns: Iterable[str] | None,
    tier: Tier = "function",
    fresh: int | None = None,
    sandbox: str = DEFAULT_SANDBOX,
    most_draws: int | None = None,
) -> Tasks:
    """Load a suite and choose tasks of a tier; an id names a task of any tier.

    Args:
        suite: The suite, as --suite names it.
        patterns: The tasks to choose.
        tier: The tier that the other patterns are for.
        fresh: The seed to draw new forensic tasks from.
        sandbox: Where forensic tasks are run, to record what they log.
        most_draws: The largest number of forensic tasks to make.
    """
    if fresh is not None and tier != "forensic":
        raise UsageError("--fresh is for --tier forensic")
    folder = suite_folder(suite)
    every = load_suite(folder)
    chosen, draws = asked_for(every, patterns or (), tier, fresh)
    made = _forged(draws[:most_draws], folder, sandbox)
    return Tasks((*every, *made), (*chosen, *made), folder)


def select_one(suite: Path | None, name: str) -> Task:
    """Return the one task of that name. Raises TaskError if it names several."""
    return only(select(suite, [name]).chosen, name)


def _forged(draws: Sequence[Drawn], suite: Path, sandbox: str) -> tuple[Task, ...]:
    if not draws:
        return ()
    made = []
    with open_pool(sandbox, suite_folders(suite)) as pool, staged("forensic tasks", len(draws)) as (finished, advance):
        for task, count, seed in draws:
            made.append(forged(task, count, seed, pool, advance))
            finished()
    return tuple(made)


def grade_with_progress(
    folder: Path,
    submissions: Sequence[Submission],
    tasks: Tasks,
    seeds: Sequence[int],
    sandbox: str,
    workers: int | None,
    fresh_seeds: bool = False,
    blind: bool = False,
    isolate: bool = False,
    fail_fast: bool = False,
    shared: bool = False,
    executor: Executor = LOCAL,
    source: str | None = None,
) -> Iterator[Grade]:
    """Grade submissions into a run folder and yield the grades as they are made.

    See `grade_run`; shared: see `LocalPool`.
    """
    if folder.is_dir() and (changed := changed_tasks(folder, tasks.every)):
        warn(f"{folder}: graded before these tasks changed, the grades no longer hold: {', '.join(changed)}")
    pools = open_executor(executor, sandbox, suite_folders(tasks.suite), workers, isolate, shared)
    with pools as pool, progress() as bars:
        needed = {item.task for item in submissions}
        goldens = bars.add_task("golden", total=len(needed) * len(seeds))
        bar = bars.add_task("submissions", total=len(submissions))
        for item in grade_run(
            folder=folder,
            submissions=submissions,
            tasks=tasks.by_id,
            seeds=seeds,
            pool=pool,
            observed=lambda *_: bars.advance(goldens),
            set_aside=lambda count: warn_set_aside(folder, count),
            fresh_seeds=fresh_seeds,
            blind=blind,
            fail_fast=fail_fast,
            source=source,
        ):
            bars.advance(bar)
            yield item


def warn_set_aside(folder: Path, count: int) -> None:
    """Warn that grades of a run folder were not made by this installation."""
    grades = "1 grade was" if count == 1 else f"{count} grades were"
    warn(
        f"{folder}: {grades} not made by this installation, or changed since; moved to {UNVERIFIED}, and graded anew "
        "where asked for"
    )


def time_with_progress(
    folder: Path, grades: Iterable[Grade], submissions: Sequence[Submission], tasks: Tasks, sandbox: str
) -> Iterator[Grade]:
    """Time the answers that pass and whose tasks have timed inputs, and yield their grades with timings."""
    known = tasks.by_id
    due = [item for item in grades if item.passed and has_timed_inputs(known[item.task])]
    if not due:
        warn("no answer that passes is to a task with timed inputs; there is no speed to measure")
    # One worker, when nothing else is graded.
    with open_pool(sandbox, suite_folders(tasks.suite), 1) as pool, staged("speed", len(due)) as (finished, _):
        for item in time_run(folder, due, submissions, known, pool):
            finished()
            yield item
