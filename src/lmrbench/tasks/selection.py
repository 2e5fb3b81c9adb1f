"""Which tasks does a user mean?"""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase

from lmrbench.errors import TaskError
from lmrbench.tasks.model import Task, Tier


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
