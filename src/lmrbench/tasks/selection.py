"""Select tasks by patterns: ids, globs, papers and categories."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from fnmatch import fnmatchcase

from lmrbench.errors import TaskError
from lmrbench.tasks.model import DrawId, Task, Tier
from lmrbench.tasks.tiers.forensic import (
    LADDER,
    Drawn,
    deviation_pool,
    draw_id,
    is_forensic,
)
from lmrbench.text import counted, did_you_mean


def select(tasks: Iterable[Task], patterns: Iterable[str], tier: Tier = "function") -> tuple[Task, ...]:
    """Return the tasks that patterns select, in the order of `tasks`.

    Args:
        tasks: The tasks to select from.
        patterns: Short names of papers, categories, or globs over task ids. Without patterns, all tasks of the tier
            are selected.
        tier: The tier to select from. Only a full task id selects a task of another tier.

    Raises:
        TaskError: A pattern selects nothing, or there are no patterns and no tasks of the tier.
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
            names = (name for task in of_tier for name in (task.id, task.paper.slug))
            guess = did_you_mean(pattern, names) or "; `lmrbench list` shows them all"
            raise TaskError(f"no task{where} is named {pattern!r}{guess}")
        chosen |= named
    if not patterns and not of_tier:
        raise TaskError(f"there is no task of the tier {tier}; choose another tier with --tier")
    return tuple(task for task in tasks if task.id in chosen) if patterns else tuple(of_tier)


def select_with_draws(
    tasks: Sequence[Task], patterns: Iterable[str], tier: Tier = "function", fresh: int | None = None
) -> tuple[tuple[Task, ...], list[Drawn]]:
    """Select tasks as `select` does, and draws of forensic tasks.

    A draw is a random choice of deviations, small changes of a program that the solver of a forensic task has to find.
    Forensic tasks are made from draws on demand, so they are not among the tasks of a suite. The id of a forensic task,
    such as `dpo/forensic_3_17`, selects its draw in any tier.

    Args:
        tasks: The tasks to select from.
        patterns: See `select`. In the forensic tier, they select papers.
        tier: See `select`.
        fresh: The seed of new draws of 1 to 12 deviations, which replace the published draws; used in the forensic tier
            only. Half of the draws with several deviations are entangled (see `DrawId`).

    Returns:
        The selected tasks, and the selected draws, each with a task of its paper.

    Raises:
        TaskError: A pattern selects nothing, or there are no published draws.
    """
    wanted = list(patterns)
    ids = [pattern for pattern in wanted if is_forensic(pattern)]
    others = [pattern for pattern in wanted if pattern not in ids]
    papers = {task.paper.slug: task for task in reversed(tasks)}
    found: dict[str, Drawn] = {}
    for name in ids:
        slug, _, rest = name.partition("/")
        draw = draw_id(rest)
        if slug not in papers or draw is None:
            raise TaskError(f"no paper is named {slug!r}; `lmrbench list` shows them all")
        found[name] = (papers[slug], draw)
    if ids and not others:
        return (), list(found.values())
    if tier != "forensic":
        return select(tasks, others, tier), list(found.values())
    with_pool = [task for task in papers.values() if task.files.deviations]
    for number, task in enumerate(select(with_pool, others) if with_pool else ()):
        for draw in _fresh(fresh, number) if fresh is not None else [draw.id for draw in deviation_pool(task).draws]:
            found[f"{task.paper.slug}/{draw}"] = (task, draw)
    if not found:
        raise TaskError("there are no published draws (use --fresh SEED), or no paper has a deviations.toml")
    return (), list(found.values())


def _fresh(seed: int, number: int) -> list[DrawId]:
    """Return the new draws of the paper with index `number`.

    Across all papers, half of the draws of each size above 1 are entangled.
    """
    return [DrawId(count, seed, count > 1 and (number + place) % 2 == 1) for place, count in enumerate(LADDER)]


def only(tasks: Sequence[Task], name: str) -> Task:
    """Return the only one of the tasks that `name` selected. Raises TaskError unless there is exactly one."""
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
    """Return the tasks that have a check, and a message that names the tasks without one, or "" if all have one.

    Imported tasks may lack a check. Raises TaskError if tasks are given and none of them has a check.
    """
    kept = tuple(task for task in tasks if task.files.check)
    without = [task.id for task in tasks if not task.files.check]
    if not without:
        return kept, ""
    message = f"{', '.join(without)} {'has' if len(without) == 1 else 'have'} no check and can't be graded"
    if not kept:
        raise TaskError(message)
    return kept, f"{message}; left out"


def of_answered_tiers(tasks: Iterable[Task], answered: Collection[str]) -> tuple[Task, ...]:
    """Return all tasks of the tiers that contain an answered task; `answered` contains their ids."""
    tasks = tuple(tasks)
    tiers = {task.tier for task in tasks if task.id in answered}
    return tuple(task for task in tasks if task.tier in tiers)
