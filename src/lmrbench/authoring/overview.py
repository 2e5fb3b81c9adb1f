"""The suite as a page of the documentation: each task with what it masks, how large it is, and what its audit found."""

from __future__ import annotations

from collections.abc import Sequence

from lmrbench.authoring.audit.certificate import read_certificate
from lmrbench.authoring.sizes import masked_lines
from lmrbench.tasks.model import Task
from lmrbench.tasks.workspace import repository_files

_HEAD = """# The suite

{tasks} tasks from {papers} papers. Lines are those of the masked bodies, files those of the repository; cases,
rewrites, wrong versions and the scores of mutants of one expression and of behaviour are what the
[audit](writing-a-task.md#the-audit) ran. This page is written by `make suite-page`.

![Tasks of each category, here and as published; masked lines against lines of the repository](pictures/suite.svg)

| task | paper | category | target | lines | files | cases | rewrites | wrong | mutants | behaviours |
|---|---|---|---|--:|--:|--:|--:|--:|--:|--:|
"""


def suite_page(tasks: Sequence[Task]) -> str:
    """The page, in Markdown. A task without a valid certificate has dashes for what an audit would say."""
    rows = [_row(task) for task in tasks]
    papers = len({task.paper.slug for task in tasks})
    return _HEAD.format(tasks=len(tasks), papers=papers) + "".join(f"| {' | '.join(row)} |\n" for row in rows)


def _row(task: Task) -> list[str]:
    paper = f"[{task.paper.title}]({task.paper.url}), {task.paper.venue} {task.paper.year}"
    targets = "<br>".join(f"`{target}`" for target in task.targets)
    row = [task.id, paper, task.category.replace("_", " "), targets]
    row += [str(masked_lines(task)), str(len(repository_files(task)))]
    found = read_certificate(task)
    if found is None:
        return [*row, *["-"] * 5]
    return [
        *row,
        str(found.cost.cases),
        str(len(found.rewrites)),
        str(len(found.wrong)),
        f"{found.mutation.score:.3f} of {found.mutation.mutants}",
        f"{found.behavioural.score:.3f} of {found.behavioural.mutants}" if found.behavioural else "-",
    ]
