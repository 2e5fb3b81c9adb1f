"""The tables and lines that `lmrbench list` prints: tasks, categories and sizes."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lmrbench.authoring.overview import CategoryCount, Size, category_counts, size
from lmrbench.report.render.tables import Sheet, sheet
from lmrbench.tasks.digests import suite_digest
from lmrbench.tasks.loading import suite_name
from lmrbench.tasks.model import Suite, Task, Tier
from lmrbench.text import counted


def tasks_sheet(tasks: Sequence[Task], tier: Tier) -> Sheet:
    """Return the table of the given tasks, which are all in one tier."""
    rows = []
    for task in tasks:
        first, *others = task.targets or task.goal_files
        target = str(first) if not others else f"{first} and {len(others)} more"
        paper, released = task.paper, task.paper.released
        release = f"{released.package} {released.version}, {released.date}" if released else "-"
        venue = f"{paper.venue} {paper.year}"
        rows.append([task.id, task.category, venue, paper.public_since or "-", target, release, paper.title])
    columns = ["task", "category", "venue", "public since", "target", "released", "paper"]
    title = counted(len(tasks), "task") + ("" if tier == "function" else f" in the {tier} tier")
    return sheet(title, columns, rows, spare=columns[1:])


def tiers_line(every_task: Sequence[Task]) -> str:
    """Return a line with the number of tasks in each tier of a suite, and its digest."""
    counts = Counter(item.tier for item in every_task if item.draw is None)
    others = ", ".join(f"{count} in the {name} tier" for name, count in counts.items() if name != "function")
    others = f" in the function tier, {others}" if others else ""
    name = suite_name(every_task) or "a suite"
    return f"{name}: {counted(counts['function'], 'task')}{others}, digest {suite_digest(every_task)}"


def tiers_warning(tasks: Sequence[Task], what: str) -> str:
    """Return a warning if the workspace of one tier may contain answers to tasks of another tier, or else "".

    Args:
        tasks: Tasks whose papers may also have tasks in other tiers.
        what: Advice to the user. It becomes part of the warning, before the names of the papers.
    """
    papers = sorted({task.paper.slug for task in tasks if task.other_tiers})
    return (
        f"Workspaces for different tiers of a paper can contain answers to each other's tasks; {what}. "
        f"Papers: {', '.join(papers)}"
        if papers
        else ""
    )


def tasks_facts(tasks: Sequence[Task]) -> list[dict[str, object]]:
    """Return the facts about tasks that `lmrbench list --json` prints."""
    return [
        {
            "id": task.id,
            "tier": task.tier,
            "category": task.category,
            "other_tiers": task.other_tiers,
            "targets": [str(target) for target in task.targets],
            "public_since": task.paper.public_since,
            "paper": task.paper.model_dump(mode="json"),
        }
        for task in tasks
    ]


@dataclass(frozen=True)
class Summary:
    """The number of tasks of a suite, and their sizes.

    Attributes:
        suite: The name and version of the suite; "" if it has none.
        digest: The digest of all tasks of the suite, as recorded in run.json.
        papers: The number of papers.
        categories: The number of tasks of each category.
        sizes: The size of each task, by id.
    """

    suite: str
    digest: str
    papers: int
    categories: tuple[CategoryCount, ...]
    sizes: dict[str, Size]

    @property
    def facts(self) -> dict[str, object]:
        """The summary, for JSON."""
        return {
            "suite": self.suite or None,
            "digest": self.digest,
            "papers": self.papers,
            "categories": [item.model_dump() for item in self.categories],
            "tasks": {name: item.model_dump() for name, item in self.sizes.items()},
        }

    @property
    def sheets(self) -> list[Sheet]:
        """The tables of categories and sizes.

        The column "published benchmark" counts the tasks of the benchmark that the suite follows.
        """
        rows = [[item.title, item.tasks, item.published] for item in self.categories]
        known = [item.published for item in self.categories if item.published is not None]
        rows.append(["all", sum(item.tasks for item in self.categories), sum(known) if known else None])
        columns = ["category", "tasks", "published benchmark"]
        categories = sheet("Tasks by category", columns, rows, numbers=columns[1:], spare=columns[2:], totals=1)
        rows_of_sizes = []
        for name in Size.model_fields:
            values = [value for item in self.sizes.values() if (value := getattr(item, name)) is not None]
            if values:
                middle = f"{statistics.median(values):g}"
                rows_of_sizes.append([name.replace("_", " "), min(values), middle, max(values), sum(values)])
        columns = ["size of a task", "minimum", "median", "maximum", "sum"]
        return [categories, sheet("Sizes", columns, rows_of_sizes, numbers=columns[1:])]

    @property
    def line(self) -> str:
        """One line with the number of tasks, the number of papers, and the digest."""
        holds = f"{counted(len(self.sizes), 'task')} of {counted(self.papers, 'paper')}"
        return f"{self.suite or 'a suite'}: {holds}, digest {self.digest}"

    def draw(self, file: Path) -> None:
        """Draw the numbers of tasks by category and the sizes of tasks, and write the figure to a file."""
        from lmrbench.report.figures import draw_suite

        draw_suite(
            {item.title: (item.tasks, item.published) for item in self.categories},
            {name: (item.masked_lines, item.repository_lines) for name, item in self.sizes.items()},
            file,
        )


def summary(every_task: Sequence[Task], tasks: Sequence[Task], facts: Suite | None) -> Summary:
    """Summarize the chosen tasks of a suite.

    Args:
        every_task: All tasks of the suite, from which the digest is computed.
        tasks: The tasks to count.
        facts: The content of suite.toml; None if the suite has none.
    """
    return Summary(
        suite=suite_name(tasks),
        digest=suite_digest(every_task),
        papers=len({task.paper.slug for task in tasks}),
        categories=category_counts(tasks, facts),
        sizes={task.id: size(task) for task in tasks},
    )
