"""Compute the workspace that a solver sees.

There are three views of the code: `full` (the masked repository), `paper+file` (only its goal files, which contain the
targets) and `paper` (only the signatures of the targets). Each comes with the summary of the paper and an instruction.
The same task always yields the same bytes. No view contains the body of a target of any task of the paper, a check,
version history, bytecode or the output of a notebook.
"""

from __future__ import annotations

import ast
import json
import sys
import textwrap
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path, PurePosixPath
from typing import Any

from lmrbench.errors import TaskError, UsageError
from lmrbench.source.functions import find, mask
from lmrbench.source.syntax import decode, parse
from lmrbench.tasks.foreign import is_litter
from lmrbench.tasks.model import STATED_TIME_LIMITS, Form, Inputs, Target, Task, TaskFiles
from lmrbench.tasks.tiers.logged import EXPERIMENT, REPLAY, RESULTS, replay

REPO = "repo"
# The maximum number of files and bytes that `folder_files` reads.
_MOST_FILES, _MOST_BYTES = 100_000, 1 << 30
RULES = (
    "Tensors are dense and on the CPU. Functions may be called any number of times, in any order and with different "
    "settings, and a call must not depend on an earlier one. Do not change arguments, models or other objects, "
    "including their flags, modes and hooks, unless a document says so. Call models and modules themselves, so that "
    "their hooks run. Second derivatives are not needed. Validate inputs only where a document or a caller requires it."
)
# The beginning of the sentence that tells a solver which file contains the paper, by form of the paper. The sentence
# continues with the paper's title.
PAPER_FILES: Mapping[Form, str] = {
    "summary": "`paper.md` is a summary of",
    "pdf": "`paper.md` is the text of",
    "latex": "`paper.md` is the text of",
    "pdf-file": "`paper.pdf` is",
}
# Digests leave this sentence out, because the version of Python depends on the machine and is not part of the task.
PYTHON = f" Your code is run by Python {sys.version_info.major}.{sys.version_info.minor}."


def folder_files(folder: Path) -> dict[str, bytes]:
    """Read all files below a folder except litter (see `is_litter`).

    Raises:
        TaskError: The folder does not exist, is too large, or contains a link to a path outside of it or an entry that
            is neither a file nor a folder.
    """
    if not folder.is_dir():
        raise TaskError(f"{folder}: there is no such folder")
    files: dict[str, bytes] = {}
    left = _MOST_BYTES
    try:
        for number, path in enumerate(_below(folder, folder)):
            if number == _MOST_FILES:
                raise TaskError(f"{folder} contains more than {_MOST_FILES} files and folders, linked ones included")
            if path.is_file():
                with path.open("rb") as file:
                    data = file.read(left + 1)
                left -= len(data)
                if left < 0:
                    raise TaskError(f"{path}: this file exceeds the limit of {_MOST_BYTES} bytes for the whole folder")
                files[path.relative_to(folder).as_posix()] = data
        return dict(sorted(files.items()))
    except OSError as error:
        raise TaskError(f"{error.filename}: {error.strerror}") from error


def repository_files(task: Task) -> dict[str, bytes]:
    """Return the files of the reference repository by path, as a copy that the caller may change."""
    return dict(task.files.repository)


def masked_files(task: Task) -> dict[str, bytes]:
    """Return the repository as a solver sees it, with the targets of all tasks of the paper in this tier masked.

    The output of notebooks is removed, too.

    Raises:
        TaskError: A target cannot be masked, or the repository contains a copy of a goal file.
    """
    return dict(_masked(task.id, task.files, (*task.targets, *task.siblings))) | dict(task.files.shown)


def unsolved_files(task: Task) -> dict[str, bytes]:
    """Return the repository that a submission is transplanted into, with only the task's own targets masked."""
    return dict(_masked(task.id, task.files, task.targets)) | dict(task.files.shown)


def answered_files(task: Task) -> dict[str, bytes]:
    """Return the repository after a correct solution, with only the targets of the paper's other tasks masked."""
    return dict(_masked(task.id, task.files, task.siblings))


@cache
def _masked(name: str, snapshot: TaskFiles, targets: tuple[Target, ...]) -> Mapping[str, bytes]:
    golden = snapshot.repository
    files = dict(golden) | _masked_goals(name, snapshot, targets)
    for goal in dict.fromkeys(target.file for target in targets):
        if copies := [path for path, data in golden.items() if path != goal and data == golden[goal]]:
            raise TaskError(f"{name}: repo/{copies[0]} is a copy of repo/{goal} and would reveal the answer; delete it")
    for path in [path for path in files if path.endswith(".ipynb")]:
        files[path] = _without_outputs(files[path], f"{name}: repo/{path}")
    return files


def _masked_goals(name: str, snapshot: TaskFiles, targets: Iterable[Target]) -> dict[str, bytes]:
    """Return the files that contain targets, with the bodies of the targets masked."""
    by_file: dict[str, list[str]] = {}
    for target in targets:
        by_file.setdefault(target.file, []).append(target.qualname)
    goals = {}
    for goal, masked in by_file.items():
        try:
            goals[goal] = mask(snapshot.repository[goal], masked)
        except TaskError as error:
            raise TaskError(f"{name}: repo/{goal}: {error}") from error
    return goals


def workspace_files(task: Task, inputs: Inputs) -> dict[str, bytes]:
    """Return all files of a workspace by path. The files of the repository are in `repo/`.

    Args:
        task: A task of any tier.
        inputs: The view of the code (see `export_workspace`).
    """
    masked = masked_files(task)
    shown = {"full": tuple(masked), "paper+file": task.goal_files, "paper": ()}[inputs]
    files = {f"{REPO}/{path}": masked[path] for path in shown}
    files |= {"paper.md": task.files.summary.encode(), "instruction.md": instruction(task, inputs).encode()}
    if task.files.results and inputs == "full":
        near = task.tolerances.get(EXPERIMENT, task.tolerance)
        program = replay(third_party_imports(task), near.rtol, near.atol)
        files |= {RESULTS: task.files.results.encode(), REPLAY: program.encode()}
    return dict(sorted(files.items()))


def export_workspace(task: Task, folder: Path, inputs: Inputs = "full") -> None:
    """Write the workspace of a task.

    Args:
        task: A task of any tier.
        folder: A folder that is empty or does not exist yet.
        inputs: The view of the code: `full` (the masked repository), `paper+file` (only its goal files) or `paper`
            (only the signatures of the targets).

    Raises:
        UsageError: The folder is not empty.
    """
    files = workspace_files(task, inputs)
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise UsageError(f"{folder} is not empty; choose an empty or new folder for the workspace")
    for path, data in files.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)


def goal_signatures(task: Task) -> dict[Target, str]:
    """Return the masked text of each target: decorators, signature, docstring and the line that replaces the body."""
    # Only the goal files are masked, because a repository can have thousands of files.
    goals = _masked_goals(task.id, task.files, task.targets) | dict(task.files.shown)
    return {target: text for target, (_, text) in target_texts(task, goals).items()}


def target_texts(task: Task, files: Mapping[str, bytes]) -> dict[Target, tuple[int, str]]:
    """Return the number of the first line and the text of each target of a task (see `texts_of`).

    Use it for trusted files only; `lmrbench.grading.reading` reads the files of submissions in bounded time.
    """
    return texts_of(task.targets, files)


def texts_of(targets: Iterable[Target], files: Mapping[str, bytes]) -> dict[Target, tuple[int, str]]:
    """Return the number of the first line and the dedented text of each target.

    Args:
        targets: The functions to find.
        files: A version of the repository, by path.

    Raises:
        TaskError: A target is missing or ambiguous.
    """
    shown = {}
    for target in targets:
        function = find(files[target.file], target.qualname)
        text = decode(files[target.file])[0]
        line_start = text.rfind("\n", 0, function.start) + 1
        shown[target] = text.count("\n", 0, line_start) + 1, textwrap.dedent(text[line_start : function.end])
    return shown


def one_text(repository: Mapping[str, bytes], task: Task) -> str:
    """Join the goal files of a task into one text.

    Args:
        repository: A version of the repository, by path.
        task: The task whose goal files are joined.
    """
    return "\n\n".join(decode(repository[path])[0] for path in task.goal_files)


def _below(folder: Path, root: Path) -> Iterator[Path]:
    """Yield all files and folders below a folder except litter."""
    for path in folder.iterdir():
        if is_litter(PurePosixPath(path.relative_to(root).as_posix())):
            continue
        if path.is_symlink() and not path.resolve().is_relative_to(root.resolve()):
            raise TaskError(f"{path} is a link to a path outside the folder; remove it")
        yield path
        if path.is_dir():
            yield from _below(path, root)
        elif not path.is_file():
            raise TaskError(f"{path} is neither a file nor a folder")


def _without_outputs(data: bytes, place: str) -> bytes:
    try:
        notebook: dict[str, Any] = json.loads(data)
        for cell in notebook["cells"]:
            if cell["cell_type"] == "code":
                cell |= {"outputs": [], "execution_count": None}
    except (ValueError, KeyError, TypeError) as error:
        raise TaskError(f"{place} is not a Jupyter notebook") from error
    return json.dumps(notebook, indent=1, ensure_ascii=False).encode() + b"\n"


def instruction(task: Task, inputs: Inputs, paper: Form = "summary") -> str:
    """Return the instruction for a solver in Markdown: the task's own instruction and the rules for every task.

    Args:
        task: A task of any tier.
        inputs: The view of the code.
        paper: The form of the paper in the workspace.
    """
    summarised = f"{PAPER_FILES[paper]}: {task.paper.title} ({task.paper.venue} {task.paper.year})."
    if not task.targets:
        files = ", ".join(f"`{REPO}/{path}`" for path in task.goal_files)
        taken = f"{summarised} Only these files are taken from your work: {files}. Edits elsewhere do not count."
        return "\n\n".join([f"# {task.id}", task.instruction.strip(), f"{taken} {_machine(task)}"]) + "\n"
    targets = ", ".join(f"`{target}`" for target in task.targets)
    seen = {
        "full": f"The repository is in `{REPO}/`; the bodies of these functions are missing. Fill them in there.",
        "paper+file": f"Only the files of these functions are in `{REPO}/`; their bodies are missing. Fill them in.",
        "paper": "You see only the functions below, not the rest of the repository. Write them into `answer.py`.",
    }[inputs]
    parts = [
        f"# {task.id}",
        f"Implement {targets} as the paper describes it. {summarised}",
        f"{seen} Only these functions are taken from your work, and new helpers, constants and imports that they need "
        "in the same file. Edits elsewhere do not count.",
        also_masked(task) if inputs != "paper" else "",
        logged_results() if task.files.results and inputs == "full" else "",
        task.instruction.strip(),
        rules(task),
    ]
    if inputs == "paper":
        parts.append("## Functions")
        parts += [f"`{target}`:\n\n```python\n{text}\n```" for target, text in goal_signatures(task).items()]
    return "\n\n".join(filter(None, parts)) + "\n"


def session_instruction(tasks: Sequence[Task], inputs: Inputs, paper: Form = "summary") -> str:
    """Return the instruction for a session in which several tasks of a paper are solved.

    Args:
        tasks: The tasks, all of one paper and tier.
        inputs: The view of the code, `full` or `paper+file`.
        paper: The form of the paper in the workspace.
    """
    first = tasks[0]
    asked = [target for task in tasks for target in task.targets]
    others = ", ".join(f"`{target}`" for target in first.siblings if target not in asked)
    seen = "Only the files of these functions are" if inputs == "paper+file" else "The repository is"
    parts = [
        f"# {first.paper.slug}",
        f"Implement {', '.join(f'`{target}`' for target in asked)} as the paper describes them. "
        f"{PAPER_FILES[paper]}: {first.paper.title} ({first.paper.venue} {first.paper.year}).",
        f"{seen} in `{REPO}/`; the bodies of these functions are missing. Fill them in there. Only these functions, "
        "and new helpers, constants and imports that they need in the same file, are taken from your work. Edits "
        "elsewhere do not count. Each task is graded separately.",
        f"These functions are masked, too, but are not part of your work: {others}." if others else "",
        *(f"# {task.id}\n\n{task.instruction.strip()}" for task in tasks),
        rules(*tasks),
    ]
    return "\n\n".join(filter(None, parts)) + "\n"


def rules(*tasks: Task) -> str:
    """Return the section of an instruction with the rules for every task and the packages that tasks may import."""
    return f"## Rules for every task\n\n{RULES}\n\n{_machine(*tasks)}"


def _machine(*tasks: Task) -> str:
    """Return the paragraph about the packages that may be imported, the version of Python and the time limits."""
    packages = ", ".join(sorted({name for task in tasks for name in third_party_imports(task)})) or "none"
    return f"Packages that may be imported besides Python's own: {packages}.{PYTHON} {STATED_TIME_LIMITS}"


def logged_results() -> str:
    """Return the paragraph of the instruction about the logged results of the complete repository."""
    return (
        f"`{RESULTS}` holds what `run(seed)` of the complete repository's `experiment.py` returned under some seeds. "
        f"`python {REPLAY}` runs yours in the same way (one thread, double precision) and prints each metric that "
        "differs. Your work is graded under other seeds."
    )


def also_masked(task: Task) -> str:
    """Return the paragraph of the instruction about the paper's other targets; "" if there are none."""
    if not task.siblings:
        return ""
    others = ", ".join(f"`{target.qualname}` of `{target.file}`" for target in task.siblings)
    return (
        f"Also masked, and not asked for: {others}. Leave them as they are: your work is graded in a repository in "
        "which they are complete."
    )


def third_party_imports(task: Task) -> tuple[str, ...]:
    """Return the names of the third-party packages that the repository and the check import, sorted."""
    return _third_party_imports(task.files)


@cache
def _third_party_imports(files: TaskFiles) -> tuple[str, ...]:
    if files.imports is not None:
        return tuple(sorted(files.imports))
    return tuple(sorted(imported_from_elsewhere(files.repository, files.check)))


def imported_from_elsewhere(repository: Mapping[str, bytes], *others: str) -> set[str]:
    """Return the top-level names of imported modules that neither Python nor the repository provides.

    Args:
        repository: The files of the repository, by path.
        others: Further Python texts whose imports are included.
    """
    own = {part.removesuffix(".py") for name in repository for part in PurePosixPath(name).parts}
    modules = [data for name, data in repository.items() if name.endswith(".py")]
    sources: list[bytes | str] = [*modules, *others]
    names = {name for source in sources for name in _imports(source)}
    return names - own - sys.stdlib_module_names


@lru_cache(maxsize=1024)
def _imports(source: bytes | str) -> frozenset[str]:
    names: set[str] = set()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = parse(source)
    except (SyntaxError, ValueError):
        return frozenset()
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        # Only statements contain imports, so expressions are skipped.
        for name in ("body", "orelse", "finalbody", "handlers", "cases"):
            waiting += getattr(node, name, ())
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module.partition(".")[0])
    return frozenset(names)
