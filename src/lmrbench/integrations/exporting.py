"""Write tasks in every format that `lmrbench export` knows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

from lmrbench.errors import UsageError
from lmrbench.files import write_whole
from lmrbench.integrations.harbor import folder_name, write_harbor
from lmrbench.integrations.huggingface import about_tiers, write_dataset, write_jsonl
from lmrbench.tasks.model import Inputs, Task
from lmrbench.tasks.workspace import export_workspace

Format = Literal["workspace", "harbor", "huggingface", "jsonl"]


def export_tasks(
    tasks: Sequence[Task], to: Path, inputs: Inputs, format: Format, goldens: bool = False
) -> Iterator[Path]:
    """Write what a solver sees of tasks, and yield the place of each task once it is written.

    Args:
        tasks: The tasks.
        to: The file for jsonl; the folder for other formats.
        inputs: What is shown.
        format: A workspace or a folder of Harbor for each task, or a dataset as a folder or a file.
        goldens: Whether a dataset also holds the answers.
    """
    if goldens and format != "huggingface":
        raise UsageError("--goldens goes with --format huggingface")
    if format == "huggingface":
        write_dataset(tasks, to, inputs, goldens)
        yield from [to] * len(tasks)
    elif format == "jsonl":
        write_jsonl(tasks, to, inputs)
        yield from [to] * len(tasks)
    else:
        for task in tasks:
            folder = to / folder_name(task) if format == "harbor" else to / task.paper.slug / task.name
            (write_harbor if format == "harbor" else export_workspace)(task, folder, inputs)
            yield folder
        if any(task.other_tiers for task in tasks):
            write_whole(to / "README.md", about_tiers(tasks).encode())
