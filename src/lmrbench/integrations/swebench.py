"""Read predictions in SWE-bench's format, with one patch per instance, as submissions.

A file contains objects with `instance_id`, `model_name_or_path` and `model_patch`, as JSON Lines or as one JSON list.
It may also be one JSON object that maps each instance id to such an object or to the patch alone. If such an entry has
no model, the name of the file is used as the model. An instance id is the id of a task, with `__` or a slash between
paper and task. A patch that can't be applied becomes a submission without code, which fails.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import ConfigDict, Field

from lmrbench.errors import RecordError, SubmissionError
from lmrbench.grading.reading import collect_diff
from lmrbench.jsonl import MAX_LINE_BYTES, submitted_lines
from lmrbench.records import Record, parsed_json, validated
from lmrbench.tasks.model import Task
from lmrbench.tasks.submission import Submission, Text

# The maximum size in bytes of a file with a single JSON text, which is parsed as a whole.
MAX_BYTES = 16 * MAX_LINE_BYTES


class Prediction(Record):
    """One prediction: a model's patch for a task. Extra keys, which some harnesses add, are ignored."""

    model_config = ConfigDict(extra="ignore")

    instance_id: Text = Field(min_length=1)
    model_name_or_path: Text = Field(min_length=1)
    model_patch: Text | None = None


def holds_predictions(path: Path) -> bool:
    """Return whether the first value of a file is a prediction; False if the file can't be read."""
    try:
        values, _ = next(_values(path))
    except (RecordError, StopIteration):
        return False
    return "instance_id" in values


def read_predictions(path: Path, tasks: Mapping[str, Task]) -> list[Submission]:
    """Read the predictions in a file. If a model has several predictions for an instance, they become its samples.

    Args:
        path: a file with JSON Lines or a single JSON text.
        tasks: the tasks by id.

    Returns:
        The submissions, in the order of the predictions.

    Raises:
        RecordError: the file can't be read, or a prediction is malformed or names an unknown task.
    """
    samples: Counter[tuple[str, str]] = Counter()
    found = []
    for number, (values, place) in enumerate(_values(path), 1):
        item = validated(values, Prediction, place)
        name = item.instance_id if item.instance_id in tasks else item.instance_id.replace("__", "/", 1)
        if name not in tasks:
            raise RecordError(f"{path}: prediction {number}: there is no task {item.instance_id!r} in this suite")
        sample = samples[item.model_name_or_path, name]
        samples[item.model_name_or_path, name] += 1
        found.append(_submission(item, tasks[name], sample))
    return found


def _values(path: Path) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield each prediction in a file, with its place for error messages.

    The objects of a JSON Lines file are yielded even if they are not predictions.
    """
    first = next(submitted_lines(path), None)
    if first is None:
        return
    try:
        values = parsed_json(first[1], str(path))
    except RecordError:
        # The first line alone is not JSON, so the file should be a single JSON text of several lines.
        values = None
    if isinstance(values, dict) and not _is_mapping(values):
        for number, line in submitted_lines(path):
            yield _object(parsed_json(line, f"{path}:{number}"), f"{path}:{number}")
        return
    if path.stat().st_size > MAX_BYTES:
        raise RecordError(f"{path}: longer than {MAX_BYTES} bytes")
    values = parsed_json(b"".join(line for _, line in submitted_lines(path)), str(path))
    if isinstance(values, dict):
        if not _is_mapping(values):
            raise RecordError(f"{path}: expected a list of predictions, or an object with one for each instance")
        for name, item in values.items():
            record = item if isinstance(item, dict) else {"model_patch": item}
            yield _object({"model_name_or_path": path.stem, "instance_id": name} | record, f"{path}: {name}")
        return
    for number, item in enumerate(values if isinstance(values, list) else [values], 1):
        yield _object(item, f"{path}: prediction {number}")


def _object(value: object, place: str) -> tuple[dict[str, Any], str]:
    if not isinstance(value, dict):
        raise RecordError(f"{place}: not a JSON object")
    return value, place


def _is_mapping(values: Mapping[str, Any]) -> bool:
    """Return whether an object maps instance ids to predictions or patches. Returns False for a single prediction."""
    return "instance_id" not in values and any(
        "model_patch" in item if isinstance(item, dict) else isinstance(item, str) and "\n+++ " in item
        for item in values.values()
    )


def _submission(item: Prediction, task: Task, sample: int) -> Submission:
    patch = item.model_patch or ""
    try:
        if not patch.strip():
            raise SubmissionError("it is empty")
        return collect_diff(task, patch.encode(), item.model_name_or_path, sample)
    except SubmissionError as error:
        return Submission(
            system=item.model_name_or_path, task=task.id, sample=sample, code="", warnings=(f"the patch: {error}",)
        )
