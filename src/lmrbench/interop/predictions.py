"""Predictions as SWE-bench's harness takes them, a patch for each instance: which submissions are they?

A file of JSON lines, each with `instance_id`, `model_name_or_path` and `model_patch`. An instance is a task, named by
its id or with `__` in the place of the slash. A patch that can't be used is a submission without code, which fails.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from pydantic import ConfigDict, Field
from pydantic_core import from_json

from lmrbench.errors import RecordError, SubmissionError
from lmrbench.grading.reading import collect_diff
from lmrbench.lines import read_submitted_lines
from lmrbench.records import Record
from lmrbench.tasks.model import Task
from lmrbench.tasks.submission import Submission, Text


class Prediction(Record):
    """One line. What harnesses add to it is left out."""

    model_config = ConfigDict(extra="ignore")

    instance_id: Text = Field(min_length=1)
    model_name_or_path: Text = Field(min_length=1)
    model_patch: Text | None = None


def holds_predictions(path: Path) -> bool:
    """Whether the first line of a file is a prediction. A file that can't be read holds none."""
    try:
        with path.open("rb") as file:
            first = from_json(file.readline())
    except (OSError, ValueError):
        return False
    return isinstance(first, dict) and "instance_id" in first


def read_predictions(path: Path, tasks: Mapping[str, Task]) -> list[Submission]:
    """The predictions of a file as submissions; several of a model for one instance are its samples, in their order.

    tasks: by id. Raises RecordError, naming the line, for one that is damaged or of no task.
    """
    samples: Counter[tuple[str, str]] = Counter()
    found = []
    for number, item in enumerate(read_submitted_lines(path, Prediction), 1):
        name = item.instance_id if item.instance_id in tasks else item.instance_id.replace("__", "/", 1)
        if name not in tasks:
            raise RecordError(f"{path}: prediction {number}: there is no task {item.instance_id!r} in this suite")
        sample = samples[item.model_name_or_path, name]
        samples[item.model_name_or_path, name] += 1
        found.append(_submission(item, tasks[name], sample))
    return found


def _submission(item: Prediction, task: Task, sample: int) -> Submission:
    try:
        return collect_diff(task, (item.model_patch or "").encode(), item.model_name_or_path, sample)
    except SubmissionError as error:
        return Submission(
            system=item.model_name_or_path, task=task.id, sample=sample, code="", warnings=(f"the patch: {error}",)
        )
