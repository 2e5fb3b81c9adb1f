"""The tables of `lmrbench list`: tasks, categories and sizes."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Sequence

from lmrbench.authoring.sizes import CategoryCount, Size
from lmrbench.report.render.tables import Sheet, sheet
from lmrbench.tasks.digests import suite_digest
from lmrbench.tasks.loading import suite_name
from lmrbench.tasks.model import Task, Tier
from lmrbench.text import counted


def tasks_sheet(tasks: Sequence[Task], tier: Tier) -> Sheet:
    """Return some tasks of a tier."""
    rows = []
    for task in tasks:
        first, *others = task.targets or task.goal_files
        target = str(first) if not others else f"{first} and {len(others)} more"
        rows.append((task.id, task.category, f"{task.paper.venue} {task.paper.year}", target, task.paper.title))
    columns = ("task", "category", "venue", "target", "paper")
    title = counted(len(tasks), "task") + ("" if tier == "function" else f" of the tier {tier}")
    return sheet(title, columns, rows, spare=("category", "venue", "target", "paper"))


def tiers_line(every_task: Sequence[Task]) -> str:
    """Return how many tasks of each tier a suite has, and its digest."""
    counts = Counter(item.tier for item in every_task if item.draw is None)
    others = ", ".join(f"{count} of the tier {name}" for name, count in counts.items() if name != "function")
    others = f", and {others}" if others else ""
    name = suite_name(every_task) or "a suite"
    return f"{name}: {counts['function']} tasks{others}, digest {suite_digest(every_task)}"


def tiers_warning(tasks: Sequence[Task], what: str) -> str:
    """Return a warning that tiers of the same papers answer each other, or "" if it does not apply.

    Args:
        tasks: Tasks of which some may have siblings in other tiers.
        what: What a solver of another tier must not be given.
    """
    papers = sorted({task.paper.slug for task in tasks if task.other_tiers})
    return f"Tiers of one paper answer each other: {what}: {', '.join(papers)}" if papers else ""


def summary_sheets(counts: Sequence[CategoryCount], sizes: Sequence[Size]) -> list[Sheet]:
    """Return how many tasks of each category a suite has, and how large they are."""
    rows = [[item.title, item.tasks, item.published] for item in counts]
    known = [item.published for item in counts if item.published is not None]
    rows.append(["all", sum(item.tasks for item in counts), sum(known) if known else None])
    columns = ["category", "tasks", "published edition"]
    categories = sheet("Tasks by category", columns, rows, numbers=columns[1:], spare=columns[2:], totals=1)
    rows_of_sizes = []
    for name in Size.model_fields:
        values = [value for item in sizes if (value := getattr(item, name)) is not None]
        if values:
            middle = statistics.median(values)
            rows_of_sizes.append([name.replace("_", " "), min(values), f"{middle:g}", max(values), sum(values)])
    columns = ["of a task", "least", "median", "most", "all"]
    return [categories, sheet("Sizes", columns, rows_of_sizes, numbers=columns[1:])]
