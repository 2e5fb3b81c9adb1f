"""`lmrbench list`: which tasks are there?"""

from __future__ import annotations

from typing import Annotated

import typer

from lmrbench.cli.options import PATTERN_HELP, JsonOption, SuiteOption, load_tasks, print_json


def list_tasks(
    patterns: Annotated[list[str] | None, typer.Argument(metavar="[TASK]...", help=PATTERN_HELP)] = None,
    suite: SuiteOption = None,
    json: JsonOption = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print the page docs/suite.md.")] = False,
) -> None:
    """List the tasks of the suite."""
    tasks = load_tasks(suite, patterns)
    if markdown:
        from lmrbench.authoring.overview import suite_page

        print(suite_page(tasks), end="")
        return
    if json:
        rows = [
            {
                "id": task.id,
                "category": task.category,
                "targets": [str(target) for target in task.targets],
                "paper": task.paper.model_dump(mode="json"),
            }
            for task in tasks
        ]
        print_json(rows)
        return
    from rich.console import Console
    from rich.table import Table

    table = Table(title=f"{len(tasks)} tasks" if len(tasks) != 1 else "1 task")
    table.add_column("Task", no_wrap=True)
    table.add_column("Category", no_wrap=True)
    table.add_column("Target", overflow="fold")
    table.add_column("Paper")
    for task in tasks:
        paper = f"{task.paper.title} ({task.paper.venue} {task.paper.year})"
        table.add_row(task.id, task.category, "\n".join(map(str, task.targets)), paper)
    Console().print(table)
