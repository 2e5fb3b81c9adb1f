"""Measure the tasks of a suite, count them by category, and write the suite's page for the docs."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Sequence

from lmrbench.authoring.audit.certificate import Mutation, read_certificate
from lmrbench.records import Record
from lmrbench.source.functions import find
from lmrbench.tasks.model import Suite, Task
from lmrbench.tasks.workspace import repository_files

_HEAD = """# The suite

{tasks} tasks from {papers} papers. A task counts as public from the first version of its paper or, if that is earlier,
the first release of its method in a package. The columns lines, files and words count the lines of the masked bodies,
the files of the repository, and the words of the instruction. The other columns are results of the
[audit](writing-a-task.md#the-audit): the numbers of ordinary and edge cases, the processor seconds of one check of the
reference, the numbers of rewrites and wrong versions, and the shares of generated mistakes (mutants) that the check
rejects. The column mutants counts those with a mistake in one expression; behavioural mutants are wrong for some inputs
only. The share that the ordinary cases alone reject is in brackets.

![Tasks of each category, here and as published; masked lines against lines of the repository](pictures/suite.svg)

"""
_TEXTS = ("task", "paper", "public since", "category", "target")
_NUMBERS = (
    "lines",
    "files",
    "words",
    "ordinary",
    "edge",
    "seconds",
    "rewrites",
    "wrong",
    "mutants",
    "behavioural mutants",
)


class Size(Record):
    """The amount of text to read and of code to write for one task.

    Attributes:
        masked_lines: Number of lines in the masked function bodies.
        repository_lines: Number of lines in the repository's Python files.
        repository_files: Number of files in the repository.
        files_to_read: Number of files that contain masked functions or that task.toml names as their context.
        instruction_words: Number of words in the instruction.
        summary_words: Number of words in the paper's summary.
        cases: Number of the check's cases, from the audit's certificate; None without a valid certificate.
    """

    masked_lines: int
    repository_lines: int
    repository_files: int
    files_to_read: int
    instruction_words: int
    summary_words: int
    cases: int | None


class CategoryCount(Record):
    """The number of tasks of a category.

    Attributes:
        category: The name of the category in task.toml.
        title: The title that pages show for it.
        tasks: The number of its tasks in the suite.
        published: The number of its tasks in the published benchmark that the suite follows; None if unknown.
    """

    category: str
    title: str
    tasks: int
    published: int | None


def size(task: Task) -> Size:
    """Return the size of a task."""
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
    """Return the number of lines that the mask removes: the bodies of the targets without their docstrings."""
    count = 0
    for target in task.targets:
        node = find(task.files.repository[target.file], target.qualname).node
        statements = node.body[1:] if ast.get_docstring(node) is not None else node.body
        count += (statements[-1].end_lineno or 0) - statements[0].lineno + 1
    return count


def category_counts(tasks: Iterable[Task], suite: Suite | None) -> tuple[CategoryCount, ...]:
    """Count the tasks of each category.

    Args:
        tasks: The tasks to count.
        suite: The contents of the suite's `suite.toml`, if there is one.

    Returns:
        The counts for the categories that the suite declares, in the order of `suite.toml`, followed by those for all
        other categories.
    """
    found = Counter(task.category for task in tasks)
    titles = dict(suite.categories) if suite else {}
    edition = suite.edition if suite else {}
    return tuple(
        CategoryCount(
            category=name,
            title=titles.get(name, name.replace("_", " ")),
            tasks=found[name],
            published=edition.get(name),
        )
        for name in dict.fromkeys([*titles, *found])
    )


def suite_page(tasks: Sequence[Task]) -> str:
    """Return the suite's page in Markdown. Tasks without a valid certificate have dashes in the audit's columns."""
    rule = ["---"] * len(_TEXTS) + ["--:"] * len(_NUMBERS)
    rows = [(*_TEXTS, *_NUMBERS), rule, *map(_row, tasks)]
    papers = len({task.paper.slug for task in tasks})
    return _HEAD.format(tasks=len(tasks), papers=papers) + "".join(f"| {' | '.join(row)} |\n" for row in rows)


def _row(task: Task) -> list[str]:
    paper = f"[{task.paper.title}]({task.paper.url}), {task.paper.venue} {task.paper.year}"
    targets = "<br>".join(f"`{target}`" for target in task.targets)
    row = [task.id, paper, task.paper.public_since or "-", task.category.replace("_", " "), targets]
    row += [str(masked_lines(task)), str(len(repository_files(task))), str(len(task.instruction.split()))]
    found = read_certificate(task)
    if found is None:
        return [*row, *["-"] * 7]
    return [
        *row,
        str(found.cost.cases - found.cost.edge),
        str(found.cost.edge),
        f"{found.cost.seconds:.2f}",
        str(len(found.rewrites)),
        str(len(found.wrong)),
        _score(found.mutation),
        _score(found.behavioural) if found.behavioural else "-",
    ]


def _score(found: Mutation) -> str:
    by_ordinary = "" if found.by_ordinary is None else f" ({found.ordinary_score:.3f})"
    return f"{found.score:.3f}{by_ordinary} of {found.mutants}"
