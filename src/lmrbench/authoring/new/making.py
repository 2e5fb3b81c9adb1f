"""Make the folder of a task from a repository and a function: copy or pin the code, record calls, propose a check.

To pin published code is to write its exact version to task.toml; lmrbench then fetches the code when it is needed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lmrbench.authoring.new import drafting
from lmrbench.authoring.new.proposing import propose
from lmrbench.authoring.new.recorder import MOST_CALLS
from lmrbench.authoring.new.recording import Call, record
from lmrbench.errors import TaskError, UsageError
from lmrbench.progress import Advance
from lmrbench.source.functions import find
from lmrbench.tasks.loading import load_facts, load_paper, load_repository
from lmrbench.tasks.model import Release, Target, Task
from lmrbench.tasks.sources.fetch import fetch
from lmrbench.tasks.sources.origin import Tree
from lmrbench.tasks.sources.pin import pinned
from lmrbench.tasks.workspace import folder_files

Say = Callable[[str], None]


@dataclass(frozen=True)
class NewTask:
    """The options for making a new task.

    Attributes:
        suite: The suite's folder.
        slug: The short name of the paper and of its folder.
        category: The task's category.
        target: The function to mask.
        repository: The folder to copy the code from; None if `source` is given.
        source: The published code to pin, in a format that `lmrbench.tasks.sources.pin` accepts; None if `repository`
            is given.
        command: The command to run in the repository while calls of the target are recorded.
        beside: Files and folders that are added to the repository only while the command runs.
        paper: The paper, as a PDF or text file, if there is one.
        released: The first package release that contains the target, if known.
    """

    suite: Path
    slug: str
    category: str
    target: Target
    repository: Path | None
    source: str | None
    command: str
    beside: tuple[Path, ...]
    paper: Path | None
    released: Release | None

    @property
    def folder(self) -> Path:
        """The folder of the paper."""
        return self.suite / self.slug

    @property
    def name(self) -> str:
        """The name of the task, derived from the name of the function."""
        return re.sub(r"\W", "_", self.target.qualname.rpartition(".")[2]).strip("_").lower()


def parsed(places: Sequence[str], source: str | None) -> tuple[Path | None, Target]:
    """Parse the positional arguments of `lmrbench task new`.

    Args:
        places: A repository and a target, or only a target if `source` is given.
        source: The published code to use instead of a repository, if given.

    Returns:
        The folder of the repository (None if `source` is given), and the target.

    Raises:
        UsageError: The number of arguments is wrong.
        TaskError: The target is malformed.
    """
    if len(places) != (1 if source else 2):
        expected = "only TARGET with --source" if source else "REPOSITORY and TARGET, or --source and TARGET"
        raise UsageError(f"expected {expected}; got {' '.join(places)}")
    return None if source else Path(places[0]), parsed_target(places[-1])


def parsed_target(text: str) -> Target:
    """Parse a target such as `losses.py::Trainer.loss`. Raises TaskError if the text is not of this form."""
    try:
        return Target.parse(text)
    except ValueError as error:
        raise TaskError(str(error)) from error


def make(wanted: NewTask, say: Say, advance: Advance) -> tuple[Task, list[str]]:
    """Write the task's folder, and return the task and the decisions that are left to the author.

    Existing files are kept, so the call can be repeated after an interruption or after the author has edited files.

    Args:
        wanted: The options for the task.
        say: Called with each line to show to the user.
        advance: Called with a stage's name, the amount done, and the total if it is known.

    Raises:
        UsageError: The slug or the category is not a valid name.
        TaskError: The target does not exist, its calls cannot be recorded, or the folder has a task.toml that does not
            define this task.
    """
    for option, given in (("slug", wanted.slug), ("category", wanted.category)):
        if not re.fullmatch(r"[a-z0-9][a-z0-9_]*", given):
            raise UsageError(f"--{option} {given}: not a valid name; use lower-case letters, digits and underscores")
    text = drafting.read_paper(wanted.paper) if wanted.paper is not None else ""
    table, check = wanted.folder / "task.toml", wanted.folder / "checks" / f"{wanted.name}.py"
    if wanted.repository is None:
        files: Mapping[str, bytes] = _fetched(wanted, say, advance)
    else:
        files = _copied(wanted, wanted.repository, say)
    _require(files, wanted.target)
    calls: tuple[Call, ...] = ()
    if not check.exists() or (isinstance(files, Tree) and not table.exists()):
        calls = _recorded(wanted, files, say, advance)
    decisions: list[str] = []
    if check.exists():
        say(f"{check}: kept as it is")
    else:
        proposal = propose(wanted.target, files, calls, wanted.command)
        _write(check, proposal.check, say)
        decisions += proposal.decisions
    source = drafting.described(files, calls) if isinstance(files, Tree) and calls else None
    draft = drafting.draft_table(wanted.slug, wanted.name, wanted.category, wanted.target, source, wanted.released)
    _write(table, draft, say)
    _write(wanted.folder / "paper.md", drafting.draft_summary(text), say)
    of_paper = load_paper(wanted.folder, load_facts(wanted.suite))
    task = next((item for item in of_paper if item.name == wanted.name), None)
    if task is None:
        raise TaskError(f"{table} has no task named {wanted.name!r}; add one, or choose another target")
    for file in (table, wanted.folder / "paper.md", check):
        if "TODO" in file.read_text("utf-8"):
            decisions.append(f"{file}: replace each TODO")
    return task, decisions


def _recorded(wanted: NewTask, files: Mapping[str, bytes], say: Say, advance: Advance) -> tuple[Call, ...]:
    advance(f"{wanted.command}: recording calls of {wanted.target}", 0, None)
    calls = record({**files, **drafting.files_beside(wanted.beside, files)}, wanted.target, wanted.command)
    most = f" ({MOST_CALLS} is the limit; later calls are ignored)" if len(calls) == MOST_CALLS else ""
    say(f"calls of the target recorded during {wanted.command}: {len(calls)}{most}")
    return calls


def _copied(wanted: NewTask, repository: Path, say: Say) -> Mapping[str, bytes]:
    """Copy the chosen files of a repository to `repo/`, and return them. An existing `repo/` is kept and returned.

    Raises TaskError before anything is written if the target is not in these files.
    """
    files, left_out = drafting.choose_files(folder_files(repository))
    _require(files, wanted.target)
    folder = wanted.folder / "repo"
    if folder.is_dir():
        say(f"{folder}: kept as it is")
        return folder_files(folder)
    for path, data in files.items():
        drafting.write_new(folder / path, data)
    say(f"files copied to {folder}: {len(files)}")
    for path, reason in left_out.items():
        say(f"  left out {path}: {reason}")
    return files


def _fetched(wanted: NewTask, say: Say, advance: Advance) -> Tree:
    """Fetch the source that task.toml pins; without a task.toml, pin and fetch `wanted.source`.

    Returns:
        The files of the source. Files in the folder `overlay` replace those with the same path.
    """
    table, overlay = wanted.folder / "task.toml", wanted.folder / "overlay"
    if table.exists():
        known = load_repository(wanted.folder)
        if not isinstance(known, Tree):
            raise TaskError(
                f"{table} has no [source]; name the repository instead of --source, or choose another --slug"
            )
        tree = known
    else:
        tree = Tree(wanted.folder, pinned(wanted.source or ""), folder_files(overlay) if overlay.is_dir() else {})
    fetch(tree.source, lambda done, total: advance(str(tree.source), done, total))
    say(f"files in {tree.source}: {len(tree.places):,}")
    return tree


def _require(files: Mapping[str, bytes], target: Target) -> None:
    if target.file not in files:
        raise TaskError(f"{target}: there is no file {target.file}")
    try:
        find(files[target.file], target.qualname)
    except TaskError as error:
        raise TaskError(f"{target.file}: {error}") from error


def _write(file: Path, content: str, say: Say) -> None:
    say(f"{file}: {'written' if drafting.write_new(file, content) else 'kept as it is'}")
