"""How large are the tasks of a suite, and how many are there of each category?"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable

from lmrbench.authoring.audit.certificate import read_certificate
from lmrbench.records import Record
from lmrbench.source.functions import find
from lmrbench.tasks.model import Suite, Task


class Size(Record):
    """What there is to read and to write for one task.

    files_to_read: the goal files and those that the task names as their context. cases: as its certificate has them;
    None without one that holds.
    """

    masked_lines: int
    repository_lines: int
    repository_files: int
    files_to_read: int
    instruction_words: int
    summary_words: int
    cases: int | None


class CategoryCount(Record):
    """A category, its title for people, and how many tasks it has here and in the edition that the suite follows."""

    category: str
    title: str
    tasks: int
    published: int | None


def size(task: Task) -> Size:
    """Measure one task. Lines of a repository are those of its Python files."""
    files = task.files.repository
    certificate = read_certificate(task)
    return Size(
        masked_lines=masked_lines(task),
        repository_lines=sum(len(data.splitlines()) for path, data in files.items() if path.endswith(".py")),
        repository_files=len(files),
        files_to_read=len({*task.goal_files, *task.context}),
        instruction_words=len(task.instruction.split()),
        summary_words=len(task.files.summary.split()),
        cases=certificate.cost.cases if certificate else None,
    )


def masked_lines(task: Task) -> int:
    """How many lines the mask takes away: those of the targets' bodies without their docstrings."""
    count = 0
    for target in task.targets:
        node = find(task.files.repository[target.file], target.qualname).node
        statements = node.body[1:] if ast.get_docstring(node) is not None else node.body
        count += (statements[-1].end_lineno or 0) - statements[0].lineno + 1
    return count


def category_counts(tasks: Iterable[Task], suite: Suite | None) -> tuple[CategoryCount, ...]:
    """The categories in the order of the suite, and then those that it does not declare."""
    found = Counter(task.category for task in tasks)
    titles = dict(suite.categories) if suite else {}
    published = suite.published if suite else {}
    return tuple(
        CategoryCount(
            category=name,
            title=titles.get(name, name.replace("_", " ")),
            tasks=found[name],
            published=published.get(name),
        )
        for name in dict.fromkeys([*titles, *found])
    )
