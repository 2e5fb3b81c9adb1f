"""Export tasks as workspaces for solvers, one folder per task.

A workspace contains the instruction, the paper and the masked repository. Other formats that write one folder per task
also use `write_each`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from lmrbench.files import write_whole
from lmrbench.tasks.model import Inputs, Task
from lmrbench.tasks.workspace import export_workspace

ABOUT_TIERS = """\
A paper may have tasks of several tiers (kinds of tasks). A task of one tier may show functions that a task of another
tier asks for. Do not evaluate a solver on a task if it was trained on, or has seen, a task of the same paper in another
tier. For each task, {fields} lists the tasks of the same paper in other tiers.
"""


def write(tasks: Sequence[Task], to: Path, inputs: Inputs) -> Iterator[Path]:
    """Write the workspace of each task to `to/paper/task`, and yield its folder."""
    return write_each(tasks, to, lambda task: f"{task.paper.slug}/{task.name}", export_workspace, inputs)


def write_each(
    tasks: Sequence[Task],
    to: Path,
    name_of: Callable[[Task], str],
    write_task: Callable[[Task, Path, Inputs], None],
    inputs: Inputs,
) -> Iterator[Path]:
    """Write each task to a folder below `to`, and yield the folder.

    If papers have tasks of several tiers (kinds of tasks), a README.md in `to` lists these tasks, because the folder of
    one task may contain answers to another.

    Args:
        tasks: the tasks.
        to: the folder that contains the folders of the tasks.
        name_of: returns the path of a task's folder relative to `to`.
        write_task: writes a task to a folder; called with the task, the folder and `inputs`.
        inputs: the files that solvers get: `full`, `paper+file` or `paper`.
    """
    for task in tasks:
        folder = to / name_of(task)
        write_task(task, folder, inputs)
        yield folder
    if lines := [f"| {task.id} | {', '.join(task.other_tiers)} |" for task in tasks if task.other_tiers]:
        table = "\n".join(["| task | tasks of the same paper in other tiers |", "|---|---|", *lines])
        text = f"# Tasks of lmrbench\n\n{ABOUT_TIERS.format(fields='the table')}\n{table}\n"
        write_whole(to / "README.md", text.encode())
