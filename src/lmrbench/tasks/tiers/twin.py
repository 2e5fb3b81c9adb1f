"""Twins: tasks derived from another task by one decisive change to the paper.

`twins/<name>.toml` in a paper folder lists edits of the summary, the instruction and the repository. The check is that
of the original task. A system that recalls the published code instead of reading the summary submits the original code,
which must fail.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from pydantic import Field

from lmrbench.errors import TaskError
from lmrbench.records import Record
from lmrbench.source.functions import find
from lmrbench.tasks.edits import FileEdit, LineEdit, Sentence, edited, edited_files
from lmrbench.tasks.files import read_table, read_text_if_there, validated
from lmrbench.tasks.model import Name, Task
from lmrbench.tasks.sources.origin import Tree, is_fetched
from lmrbench.tasks.workspace import one_text

# The name of a twin's wrong version that is the unchanged code of the original task.
ORIGINAL = "the_original"


class Twin(Record):
    """A twin, as described by `twins/<name>.toml`.

    Attributes:
        name: The name of the twin, taken from the name of the file.
        of: The name of the original task.
        why: A sentence that describes the change.
        summary: Edits of the paper's summary.
        instruction: Edits of the instruction.
        repo: Edits of the repository, which yield the twin's reference.
    """

    name: Name
    of: Name
    why: Sentence
    summary: tuple[LineEdit, ...] = Field(min_length=1)
    instruction: tuple[LineEdit, ...] = ()
    repo: tuple[FileEdit, ...] = Field(min_length=1)


def twins(folder: Path, tasks: Sequence[Task]) -> tuple[Task, ...]:
    """Load the twins of a paper's tasks.

    Args:
        folder: The paper folder.
        tasks: The tasks of the paper.

    Raises:
        TaskError: A twin is malformed. The message names the file and the key.
    """
    return tuple(_twin(file, tasks) for file in sorted((folder / "twins").glob("*.toml")))


def _twin(file: Path, tasks: Sequence[Task]) -> Task:
    twin = validated(Twin, {**read_table(file, file.parents[2]), "name": file.stem}, file, "")
    original = next((task for task in tasks if task.name == twin.of and task.tier == "function"), None)
    if original is None:
        raise TaskError(f"{file}: of: the paper has no task {twin.of!r}")
    if any(task.name == twin.name for task in tasks):
        raise TaskError(f"{file}: task.toml already defines a task of this name; rename the file")
    faithful = original.files.repository
    repository: Mapping[str, bytes]
    if isinstance(faithful, Tree):
        repository = _AlteredTree(faithful, twin.repo, f"{file}: repo")
    else:
        repository = {**faithful, **edited_files(faithful, twin.repo, f"{file}: repo")}
    equivalents = file.parent.parent / "equivalent" / file.name
    files = replace(
        original.files,
        repository=repository,
        summary=edited(original.files.summary, twin.summary, f"{file}: summary"),
        rewrites={},
        wrong=_Originals(original),
        equivalents=read_text_if_there(equivalents, file.parents[2]) or "",
        deviations="",
    )
    instruction = edited(original.instruction, twin.instruction, f"{file}: instruction")
    changes = {"name": twin.name, "tier": "twin", "twin_of": original.id, "instruction": instruction, "files": files}
    if not isinstance(faithful, Tree) or is_fetched(faithful.source):
        for target in original.targets:
            find(repository[target.file], target.qualname)
    return original.model_copy(update=changes)


class _AlteredTree(Tree):
    """The files of a source with the edits of a twin. Files are read and edited on access."""

    def __init__(self, original: Tree, edits: tuple[FileEdit, ...], where: str) -> None:
        super().__init__(original.folder, original.source, original.overlay)
        self._original, self._edits, self._where = original, edits, where
        self._altered: Mapping[str, bytes] | None = None

    def __getitem__(self, path: str) -> bytes:
        if self._altered is None:
            self._altered = edited_files(self._original, self._edits, self._where)
        return self._altered[path] if path in self._altered else self._original[path]

    @property
    def digest(self) -> str:
        """The SHA-256 of the original's digest and the edits."""
        edits = [edit.model_dump(mode="json") for edit in self._edits]
        return hashlib.sha256(json.dumps([self._original.digest, edits], sort_keys=True).encode()).hexdigest()


class _Originals(Mapping[str, str]):
    """The wrong versions of a twin: the code of its original task, read on access, and that task's correct rewrites."""

    def __init__(self, original: Task) -> None:
        self._task = original

    def __getitem__(self, name: str) -> str:
        if name == ORIGINAL:
            return one_text(self._task.files.repository, self._task)
        return self._task.files.rewrites[name]

    def __iter__(self) -> Iterator[str]:
        return iter((ORIGINAL, *self._task.files.rewrites))

    def __len__(self) -> int:
        return 1 + len(self._task.files.rewrites)
