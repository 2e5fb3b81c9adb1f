"""What is the twin of a task? The same task of a paper with one decisive thing changed.

`twins/<name>.toml` of a paper's folder holds edits of the summary, the instruction and the repository. The check is
that of the original. Who knows the published code by heart and does not read hands in the original, which must fail.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from pydantic import Field

from lmrbench.errors import TaskError
from lmrbench.records import Record
from lmrbench.source.functions import find
from lmrbench.source.syntax import decode
from lmrbench.tasks.edits import LineEdit, Sentence, edited
from lmrbench.tasks.files import read_table, read_text_if_there, validated
from lmrbench.tasks.model import Name, RelativePath, Task
from lmrbench.tasks.workspace import one_text


class RepositoryEdit(LineEdit):
    """An edit of one file of the repository."""

    file: RelativePath


class Twin(Record):
    """One `twins/<name>.toml`. of: the name of the task. why: what is changed. repo: the edits that make the golden."""

    name: Name
    of: Name
    why: Sentence
    summary: tuple[LineEdit, ...] = Field(min_length=1)
    instruction: tuple[LineEdit, ...] = ()
    repo: tuple[RepositoryEdit, ...] = Field(min_length=1)


def twins(folder: Path, tasks: Sequence[Task]) -> tuple[Task, ...]:
    """The twins of a paper's tasks, by name. Raises TaskError, which names file and key, for what is wrong there."""
    return tuple(_twin(file, tasks) for file in sorted((folder / "twins").glob("*.toml")))


def _twin(file: Path, tasks: Sequence[Task]) -> Task:
    twin = validated(Twin, {**read_table(file, file.parents[2]), "name": file.stem}, file, "")
    original = next((task for task in tasks if task.name == twin.of and task.tier == "function"), None)
    if original is None:
        raise TaskError(f"{file}: of: the paper has no task {twin.of!r}")
    if any(task.name == twin.name for task in tasks):
        raise TaskError(f"{file}: task.toml has a task of that name")
    repository = {**original.files.repository, **_changed(original, twin, file)}
    equivalents = file.parent.parent / "equivalent" / file.name
    files = replace(
        original.files,
        repository=repository,
        summary=edited(original.files.summary, twin.summary, f"{file}: summary"),
        rewrites={},
        wrong={"the_original": one_text(original.files.repository, original), **original.files.rewrites},
        equivalents=read_text_if_there(equivalents, file.parents[2]) or "",
        deviations="",
    )
    instruction = edited(original.instruction, twin.instruction, f"{file}: instruction")
    changes = {"name": twin.name, "tier": "twin", "twin_of": original.id, "instruction": instruction, "files": files}
    for target in original.targets:
        find(repository[target.file], target.qualname)
    return original.model_copy(update=changes)


def _changed(original: Task, twin: Twin, file: Path) -> dict[str, bytes]:
    repository = original.files.repository
    by_file: dict[str, list[LineEdit]] = {}
    for item in twin.repo:
        if item.file not in repository:
            raise TaskError(f"{file}: repo: there is no file repo/{item.file}")
        by_file.setdefault(item.file, []).append(item)
    return {
        path: edited(decode(repository[path])[0], edits, f"{file}: repo: {path}").encode()
        for path, edits in by_file.items()
    }
