"""`lmrbench show`: what does a task ask for?"""

from __future__ import annotations

from typing import Annotated

import typer

from lmrbench.cli.options import JsonOption, SuiteOption, load_tasks, print_json


def show(
    task_id: Annotated[str, typer.Argument(metavar="TASK", help="A task id, such as dpo/preference_loss.")],
    suite: SuiteOption = None,
    json: JsonOption = False,
) -> None:
    """Show one task: its paper, its instruction, and the masked function as a solver finds it."""
    from lmrbench.errors import TaskError
    from lmrbench.tasks.loading import task_digest, variant_files
    from lmrbench.tasks.workspace import goal_signatures

    tasks = load_tasks(suite, [task_id])
    if len(tasks) > 1:
        raise TaskError(f"{task_id!r} names {len(tasks)} tasks: {', '.join(task.id for task in tasks)}")
    task = tasks[0]
    counts = {kind: len(variant_files(task, kind)) for kind in ("rewrites", "wrong")}
    if json:
        facts = task.model_dump(mode="json", exclude={"folder", "targets"})
        print_json(
            {
                "id": task.id,
                "targets": [str(item) for item in task.targets],
                **facts,
                **counts,
                "digest": task_digest(task),
            }
        )
        return
    from rich.console import Console
    from rich.markdown import Markdown
    from rich.syntax import Syntax
    from rich.table import Table

    console = Console()
    table = Table(title=task.id, show_header=False)
    for key, value in (
        ("paper", f"{task.paper.title} ({task.paper.venue} {task.paper.year}), {task.paper.url}"),
        ("category", task.category),
        ("target", "\n".join(map(str, task.targets))),
        ("context", ", ".join(task.context) or "-"),
        ("tolerance", f"rtol {task.tolerance.rtol:g}, atol {task.tolerance.atol:g}"),
        ("limits", ", ".join(f"{name} {value:g}" for name, value in task.limits)),
        ("variants", ", ".join(f"{count} {kind}" for kind, count in counts.items())),
        ("digest", task_digest(task)),
    ):
        table.add_row(key, value)
    console.print(table)
    console.print(Markdown(task.instruction))
    for target, text in goal_signatures(task).items():
        console.print(f"\n[bold]{target}[/]")
        console.print(Syntax(text, "python"))
