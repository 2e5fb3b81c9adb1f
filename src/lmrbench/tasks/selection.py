"""The tasks that a user names."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from fnmatch import fnmatchcase

from lmrbench.errors import TaskError
from lmrbench.tasks.model import Task, Tier
from lmrbench.text import counted


def select(tasks: Iterable[Task], patterns: Iterable[str], tier: Tier = "function") -> tuple[Task, ...]:
    """The tasks of a tier that a pattern names: a paper's slug, a category or a glob; all of them without patterns.

    A task id names a task of any tier. A pattern that names nothing is a TaskError, so that a typing error never grades
    less than was meant; so is a tier without tasks.
    """
    tasks = tuple(tasks)
    of_tier = [task for task in tasks if task.tier == tier]
    chosen: set[str] = set()
    patterns = tuple(patterns)
    for pattern in patterns:
        named = {task.id for task in tasks if task.id == pattern} or {
            task.id for task in of_tier if pattern in (task.paper.slug, task.category) or fnmatchcase(task.id, pattern)
        }
        if not named:
            where = "" if tier == "function" else f" of the tier {tier}"
            raise TaskError(f"no task{where} is named {pattern!r}; `lmrbench list` shows them all")
        chosen |= named
    if not patterns and not of_tier:
        raise TaskError(f"there is no task of the tier {tier}; `lmrbench list` shows the others")
    return tuple(task for task in tasks if task.id in chosen) if patterns else tuple(of_tier)


def only(tasks: Sequence[Task], name: str) -> Task:
    """Return the one task that a name selects. Raises TaskError if it selects several."""
    if len(tasks) != 1:
        raise TaskError(f"{name!r} names {counted(len(tasks), 'task')}: {', '.join(task.id for task in tasks)}")
    return tasks[0]


def paper_task(tasks: Iterable[Task], paper: str) -> Task:
    """Return the first task of a paper. Raises TaskError for an unknown paper."""
    for task in tasks:
        if task.paper.slug == paper:
            return task
    raise TaskError(f"no paper is named {paper!r}; `lmrbench list` shows them all")


def gradable(tasks: Sequence[Task]) -> tuple[tuple[Task, ...], str]:
    """Return the tasks that have a check, and a message that names the others. An imported task may have no check.

    Raises TaskError if tasks are given and none of them has a check.
    """
    kept = tuple(task for task in tasks if task.files.check)
    without = [task.id for task in tasks if not task.files.check]
    if not without:
        return kept, ""
    message = f"{', '.join(without)}: {'has' if len(without) == 1 else 'have'} no check and can't be graded"
    if not kept:
        raise TaskError(message)
    return kept, f"{message}; left out"


def of_answered_tiers(tasks: Iterable[Task], answered: Collection[str]) -> tuple[Task, ...]:
    """Return the tasks of every tier that has an answer. answered: task ids."""
    tasks = tuple(tasks)
    tiers = {task.tier for task in tasks if task.id in answered}
    return tuple(task for task in tasks if task.tier in tiers)
