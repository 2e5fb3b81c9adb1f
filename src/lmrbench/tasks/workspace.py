"""What does a solver see of a task?

Three views, from much to little: `full` (the masked repository), `paper+file` (its goal files only) and `paper` (no
code but the signatures). Each comes with the digest of the paper and an instruction, and is computed: the same task
gives the same bytes. No view holds a golden body, a check, history, bytecode, or what a notebook printed.
"""

from __future__ import annotations

import ast
import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any, Literal

from lmrbench.errors import LmrbenchError, TaskError
from lmrbench.tasks.model import Target, Task
from lmrbench.tasks.source import find, mask
from lmrbench.tasks.text import Source, decode

Inputs = Literal["full", "paper+file", "paper"]

REPO = "repo"
_NO_FOLDERS = frozenset(
    {"__pycache__", ".git", ".hg", ".svn", ".ipynb_checkpoints", ".mypy_cache", ".pytest_cache", ".ruff_cache"}
    | {".hypothesis", ".tox", ".nox", ".venv", ".idea", ".vscode"}
)
_NO_SUFFIXES = (".pyc", ".pyo")
_NO_FILES = frozenset({".DS_Store", ".git", ".coverage"})


def is_litter(path: PurePosixPath) -> bool:
    """True for what tools leave behind: bytecode, caches, history."""
    return (
        any(part in _NO_FOLDERS for part in path.parts) or path.name in _NO_FILES or path.suffix in _NO_SUFFIXES
    )


def repository_files(task: Task) -> dict[str, bytes]:
    """The golden repository, by path. A link that leaves it, or anything but files and folders, is a TaskError."""
    if not task.repo.is_dir():
        raise TaskError(f"{task.repo}: there is no such folder")
    try:
        return dict(sorted(_read_folder(task.repo, task.repo.resolve())))
    except OSError as error:
        raise TaskError(f"{error.filename}: {error.strerror}") from error


def masked_files(task: Task) -> dict[str, bytes]:
    """The repository without its targets' bodies and without what its notebooks printed.

    A goal file that is missing, or that the repository holds a second copy of, is a TaskError.
    """
    golden = repository_files(task)
    files = dict(golden)
    for goal in task.goal_files:
        if goal not in golden:
            raise TaskError(f"{task.id}: there is no file repo/{goal}")
        if copies := [path for path, data in golden.items() if path != goal and data == golden[goal]]:
            raise TaskError(f"{task.id}: repo/{copies[0]} is a copy of repo/{goal}, and would show the answer")
        try:
            files[goal] = mask(golden[goal], [target for target in task.targets if target.file == goal])
        except TaskError as error:
            raise TaskError(f"{task.id}: repo/{error}") from error
    for path in [path for path in files if path.endswith(".ipynb")]:
        files[path] = _without_outputs(files[path], f"{task.id}: repo/{path}")
    return files


def workspace_files(task: Task, inputs: Inputs) -> dict[str, bytes]:
    """All files of a workspace, by path; those of the repository lie under `repo/`."""
    masked = masked_files(task)
    shown = {"full": tuple(masked), "paper+file": task.goal_files, "paper": ()}[inputs]
    try:
        paper = task.digest_file.read_bytes()
    except OSError as error:
        raise TaskError(f"{task.digest_file}: {error.strerror}") from error
    files = {f"{REPO}/{path}": masked[path] for path in shown}
    files |= {"paper.md": paper, "instruction.md": _instruction(task, inputs, masked).encode()}
    return dict(sorted(files.items()))


def build(task: Task, inputs: Inputs, destination: Path) -> None:
    """Write a workspace into a folder that does not exist yet or is empty."""
    files = workspace_files(task, inputs)
    try:
        destination.mkdir(parents=True, exist_ok=True)
        if any(destination.iterdir()):
            raise LmrbenchError(f"{destination}: is not empty; a workspace needs a folder of its own")
        for path, data in files.items():
            file = destination / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)
    except OSError as error:
        raise LmrbenchError(f"{error.filename or destination}: {error.strerror}") from error


def third_party_packages(files: Mapping[str, bytes]) -> tuple[str, ...]:
    """The top-level names that Python files import and that are neither theirs nor the standard library's."""
    own = {part for path in files for part in (*PurePosixPath(path).parts[:-1], PurePosixPath(path).stem)}
    imported = {name for path, data in files.items() if path.endswith(".py") for name in _imports(data)}
    return tuple(sorted(imported - own - sys.stdlib_module_names))


def _read_folder(folder: Path, root: Path) -> Iterator[tuple[str, bytes]]:
    for path in folder.iterdir():
        name = path.relative_to(root) if path.is_relative_to(root) else path
        raise NotImplementedError(name)


def _imports(data: bytes) -> Iterator[str]:
    try:
        tree = Source.parse(decode(data)[0]).tree
    except SyntaxError:
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]
