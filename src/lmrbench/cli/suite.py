"""`lmrbench suite`: what is in the suite, and how large are its tasks?"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lmrbench.cli.options import JsonOption, SuiteOption, load_all_and_some, print_json
from lmrbench.cli.terminal import console, say
from lmrbench.report.render.tables import sheet, show
from lmrbench.tasks.loading import suite_folder
from lmrbench.text import counted

if TYPE_CHECKING:
    from lmrbench.authoring.overview import CategoryCount, Size


def suite(
    suite: SuiteOption = None,
    figure: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Draw it: FILE.svg, .png or .pdf."),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Show what the suite holds: tasks of each category, and how much there is to read and to write.

    The digest names what every task asks and how it is graded: results under another digest are of another suite.
    """
    from lmrbench.authoring.overview import category_counts, size
    from lmrbench.tasks.digests import suite_digest
    from lmrbench.tasks.loading import load_facts, suite_name

    every_task, tasks = load_all_and_some(suite, None)
    # As in run.json: of all tiers.
    digest = suite_digest(every_task)
    facts = load_facts(suite_folder(suite))
    counts, sizes = category_counts(tasks, facts), {task.id: size(task) for task in tasks}
    papers = len({task.paper.slug for task in tasks})
    if figure is not None:
        from lmrbench.report.figures import draw_suite

        draw_suite(
            {item.title: (item.tasks, item.published) for item in counts},
            {item.id: (sizes[item.id].masked_lines, sizes[item.id].repository_lines) for item in tasks},
            figure,
        )
        if not json:
            say(f"{figure}: written")
    if json:
        print_json(
            {
                "suite": suite_name(tasks) or None,
                "digest": digest,
                "papers": papers,
                "categories": [item.model_dump() for item in counts],
                "tasks": {name: item.model_dump() for name, item in sizes.items()},
            }
        )
        return
    _print_counts(counts)
    _print_sizes(list(sizes.values()))
    holds = f"{counted(len(tasks), 'task')} of {counted(papers, 'paper')}"
    say(f"{suite_name(tasks) or 'a suite'}: {holds}, digest {digest}")


def _print_counts(counts: Sequence[CategoryCount]) -> None:
    rows = [[item.title, item.tasks, item.published] for item in counts]
    known = [item.published for item in counts if item.published is not None]
    rows.append(["all", sum(item.tasks for item in counts), sum(known) if known else None])
    columns = ["category", "tasks", "published edition"]
    show(sheet("Tasks by category", columns, rows, numbers=columns[1:], spare=columns[2:], totals=1), console())


def _print_sizes(sizes: Sequence[Size]) -> None:
    rows = []
    for name in type(sizes[0]).model_fields:
        values = [value for item in sizes if (value := getattr(item, name)) is not None]
        if values:
            middle = statistics.median(values)
            rows.append([name.replace("_", " "), min(values), f"{middle:g}", max(values), sum(values)])
    columns = ["of a task", "least", "median", "most", "all"]
    show(sheet("Sizes", columns, rows, numbers=columns[1:]), console())
