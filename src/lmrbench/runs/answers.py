"""The answers that a command grades: those of built-in systems and those that were submitted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from lmrbench.grading.searching import SYSTEM, searched
from lmrbench.grading.selection import Selection
from lmrbench.grading.systems import BuiltIn, submissions_of
from lmrbench.progress import Stages
from lmrbench.runs.folder import SUBMISSIONS, read_submissions, require_known, write_submissions
from lmrbench.runs.places import RUNS, require_built_in, run_name, source_of
from lmrbench.sandbox.registry import open_pool
from lmrbench.tasks.loading import suite_folders
from lmrbench.tasks.submission import Answer, Submission
from lmrbench.tasks.tiers.forensic import is_forensic
from lmrbench.text import counted

# The built-in systems that `lmrbench run` grades if no model is given. For forensic tasks, it also grades the answers
# of `search`, which tries generic edits of the program.
WITHOUT_MODEL: tuple[BuiltIn, ...] = ("golden", "mask", "nearest")


@dataclass(frozen=True)
class Answers:
    """Answers to grade into a run folder.

    Attributes:
        tasks: The selection of tasks; all chosen tasks have a check.
        submissions: The answers to the chosen tasks.
        folder: The run folder.
        source: The file of the submissions, as run.json should record it; None to keep the value in run.json.
    """

    tasks: Selection
    submissions: list[Submission]
    folder: Path
    source: str | None


def built_in_answers(
    systems: Sequence[BuiltIn], tasks: Selection, most: int | None, out: Path | None, warn: Callable[[str], None]
) -> Answers:
    """Make the answers of built-in systems to the chosen tasks.

    Args:
        systems: The names of the systems.
        tasks: The selection of tasks.
        most: The maximum number of answers per system and task; None for all.
        out: The run folder; by default one below `RUNS`, named after the systems.
        warn: Called with a message about the tasks that have no check.

    Raises:
        TaskError: None of the tasks has a check.
        UsageError: The default run folder contains answers that were read from a file.
    """
    tasks = tasks.with_checks(warn)
    offered = (item for name in systems for item in submissions_of(name, tasks.chosen))
    submissions = [item for item in offered if most is None or item.sample < most]
    folder = out or RUNS / "-".join(systems)
    if out is None:
        require_built_in(folder)
    return Answers(tasks, submissions, folder, None)


def submitted_answers(
    path: Path, submitted: Sequence[Submission], tasks: Selection, out: Path | None, warn: Callable[[str], None]
) -> Answers:
    """Return those submissions that belong to the chosen tasks.

    Args:
        path: The file or run folder that the submissions come from.
        submitted: All submissions in `path`.
        tasks: The selection of tasks.
        out: The run folder. If given, it may contain other answers, too. By default, `path` if it is a run folder, or
            else a new folder below `RUNS`.
        warn: Called with a message about answered tasks that have no check, and about other answers in the run folder.

    Raises:
        RecordError: A submission belongs to no task of the suite, or the run folder contains answers from another
            source.
        TaskError: None of the answered tasks has a check.
    """
    require_known(path, submitted, tasks.by_id)
    tasks = tasks.with_checks(warn, {item.task for item in submitted})
    names = tasks.names
    folder = out or (path if path.is_dir() else RUNS / run_name(path.stem))
    source, others = source_of(folder, path, submitted, merge=out is not None)
    if others:
        warn(f"{folder} also contains {counted(len(others), 'answer')} not found in {path}")
    return Answers(tasks, [item for item in submitted if item.task in names], folder, source)


def answers_without_model(
    folder: Path, tasks: Selection, sandbox: str, workers: int | None, stages: Stages
) -> list[Submission]:
    """Return the answers of the systems that need no model, including those of `search` for forensic tasks.

    A search takes long. Each answer of `search` is written to the run folder as soon as it is found, and is reused by
    later calls.

    Args:
        folder: The run folder.
        tasks: The selection of tasks.
        sandbox: The sandbox that `search` runs programs in.
        workers: The number of warm workers for `search`; one per core if None.
        stages: Shows the progress of the search.
    """
    due = {Answer(SYSTEM, task.id, 0): task for task in tasks.chosen if is_forensic(task.id)}
    earlier = read_submissions(folder) if (folder / SUBMISSIONS).exists() else []
    found = [item for item in earlier if due.pop(item.answer, None)]
    if due:
        opened = open_pool(sandbox, suite_folders(tasks.suite), workers)
        with opened as pool, stages("search", len(due)) as (finished, advance):
            for item in searched(tuple(due.values()), pool, advance):
                write_submissions(folder, [item])
                found.append(item)
                finished()
    return [*found, *(item for system in WITHOUT_MODEL for item in submissions_of(system, tasks.chosen))]
