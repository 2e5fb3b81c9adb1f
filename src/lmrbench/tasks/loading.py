"""Which tasks does this suite hold, and is each of them well formed?

A suite is a folder of paper folders; a paper folder is one with a `task.toml`. Whatever is wrong there is a `TaskError`
that names the file and the key, at load, before anything runs.
"""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Iterable
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from lmrbench.errors import TaskError
from lmrbench.tasks.model import Paper, Target, Task
from lmrbench.tasks.source import find
from lmrbench.tasks.workspace import repository_files

Model = TypeVar("Model", Paper, Task)


def default_suite() -> Path:
    """The suite that comes with lmrbench: inside an installed package, or beside src/ in a checkout."""
    package = Path(__file__).resolve().parents[1]
    packaged = package / "suite"
    return packaged if packaged.is_dir() else package.parents[1] / "suite"


def load_suite(folder: Path) -> tuple[Task, ...]:
    """Load every task below `folder`, ordered by paper and then as task.toml lists them."""
    if not folder.is_dir():
        raise TaskError(f"{folder}: there is no suite folder of that name")
    papers = sorted(path.parent for path in folder.glob("*/task.toml"))
    if not papers:
        raise TaskError(f"{folder}: no paper folder here (none holds a task.toml)")
    return tuple(task for paper in papers for task in load_paper(paper))


def load_paper(folder: Path) -> tuple[Task, ...]:
    """Load the tasks of one paper folder and check that every file and target they name is there."""
    file = folder / "task.toml"
    try:
        table = tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise TaskError(f"{file}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise TaskError(f"{file}: {error}") from error
    if unknown := sorted(table.keys() - {"paper", "task"}):
        raise TaskError(f"{file}: unknown key {unknown[0]!r}; expected [paper] and [[task]]")
    paper = _validate(Paper, table.get("paper", {}), file, "paper")
    if paper.slug != folder.name:
        raise TaskError(f"{file}: paper.slug is {paper.slug!r}, but the folder is called {folder.name!r}")
    entries = table.get("task", [])
    if not isinstance(entries, list) or not entries:
        raise TaskError(f"{file}: task: at least one [[task]] is needed")
    tasks = tuple(_task(entry, paper, folder, f"task[{index}]") for index, entry in enumerate(entries))
    names = [task.name for task in tasks]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise TaskError(f"{file}: task.name: {twice[0]!r} is used twice")
    return tasks


def select(tasks: Iterable[Task], patterns: Iterable[str]) -> tuple[Task, ...]:
    """The tasks that a pattern names: a task id, a paper's slug, a category or a glob; all of them without patterns.

    A pattern that names nothing is a TaskError, so that a typing error never grades less than was meant.
    """
    tasks = tuple(tasks)
    chosen: set[str] = set()
    patterns = tuple(patterns)
    for pattern in patterns:
        named = {
            task.id for task in tasks if pattern in (task.paper.slug, task.category) or fnmatchcase(task.id, pattern)
        }
        if not named:
            raise TaskError(f"no task is named {pattern!r}; `lmrbench list` shows them all")
        chosen |= named
    return tuple(task for task in tasks if not patterns or task.id in chosen)


def task_digest(task: Task) -> str:
    """SHA-256 over all that a task is: table, paper's digest, repository, check, and what is declared beside it.

    Caches and certificates are bound to it, so whatever changes a task makes them stale.
    """
    digest = hashlib.sha256()
    table = task.model_dump(mode="json", exclude={"folder"})
    digest.update(json.dumps(table, sort_keys=True).encode())
    files = {f"repo/{path}": data for path, data in repository_files(task).items()}
    declared = [equivalents_file(task)] if equivalents_file(task).is_file() else []
    variants = [*variant_files(task, "rewrites"), *variant_files(task, "wrong")]
    for path in (task.digest_file, task.check_file, *variants, *declared):
        files[path.relative_to(task.folder).as_posix()] = path.read_bytes()
    for name, data in sorted(files.items()):
        digest.update(f"\0{name}\0{len(data)}\0".encode())
        digest.update(data)
    return digest.hexdigest()


def variant_files(task: Task, kind: str) -> tuple[Path, ...]:
    """The files of `rewrites/<task>/` or `wrong/<task>/`, by name."""
    return tuple(sorted((task.folder / kind / task.name).glob("*.py")))


def equivalents_file(task: Task) -> Path:
    """`equivalent/<task>.toml`: the ids of mutants that are no mistakes, each with the reason."""
    return task.folder / "equivalent" / f"{task.name}.toml"


def _task(entry: dict[str, Any], paper: Paper, folder: Path, key: str) -> Task:
    file = folder / "task.toml"
    if reserved := sorted(entry.keys() & {"paper", "folder"}):
        raise TaskError(f"{file}: {key}.{reserved[0]}: unknown key")
    entry = dict(entry)
    try:
        entry["targets"] = [Target.parse(text) for text in entry.get("targets", [])]
    except (TypeError, ValueError) as error:
        reason = error.errors()[0]["msg"] if isinstance(error, ValidationError) else str(error)
        raise TaskError(f"{file}: {key}.targets: {reason}") from error
    task = _validate(Task, {**entry, "paper": paper, "folder": folder}, file, key)
    files = repository_files(task)
    for name in (*task.goal_files, *task.context):
        if name not in files:
            where = "targets" if name in task.goal_files else "context"
            raise TaskError(f"{file}: {key}.{where}: there is no file repo/{name}")
    for path in (task.check_file, task.digest_file):
        if not path.is_file():
            raise TaskError(f"{file}: {key}: there is no file {path.relative_to(folder)}")
    for target in task.targets:
        try:
            find(files[target.file], target.qualname)
        except TaskError as error:
            raise TaskError(f"{file}: {key}.targets: {target.file}: {error}") from error
    return task


def _validate(model: type[Model], data: dict[str, Any], file: Path, key: str) -> Model:
    try:
        return model.model_validate(data)
    except ValidationError as error:
        first: Any = error.errors(include_url=False)[0]
        place = ".".join(str(part) for part in (key, *first["loc"]))
        message = "unknown key" if first["type"] == "extra_forbidden" else first["msg"]
        raise TaskError(f"{file}: {place}: {message}") from error
