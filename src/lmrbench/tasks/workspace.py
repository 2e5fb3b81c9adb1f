"""What does a solver see of a task?

Three views, from much to little: `full` (the masked repository), `paper+file` (its goal files only) and `paper` (no
code but the signatures). Each comes with the summary of the paper and an instruction, and is computed: the same task
gives the same bytes. No view holds a golden body of any task of the paper, a check, history, bytecode, or what a
notebook printed.
"""

from __future__ import annotations

import ast
import json
import sys
import textwrap
import warnings
from collections.abc import Iterable, Iterator, Mapping
from functools import cache, lru_cache
from pathlib import Path, PurePosixPath
from typing import Any

from lmrbench.errors import TaskError, UsageError
from lmrbench.source.functions import find, mask
from lmrbench.source.syntax import decode
from lmrbench.tasks.foreign import is_litter
from lmrbench.tasks.model import Inputs, Target, Task, TaskFiles
from lmrbench.tasks.tiers.logged import EXPERIMENT, REPLAY, RESULTS, replay
from lmrbench.tasks.time_limits import STATED

REPO = "repo"
# Of a folder that is read whole.
_MOST_FILES, _MOST_BYTES = 100_000, 1 << 30
RULES = (
    "What holds for every task: values are of the plain types that the documents name, not of subclasses, and tensors "
    "are dense and lie on the CPU. The functions may be called any number of times, in any order, with other arguments "
    "and other settings, and nothing of an earlier call may show. What they return is read, and not changed, by who "
    "gets it. Where arguments, models or objects are left unchanged, so are flags, modes and hooks. Models and modules "
    "are called as such, so that their hooks run. Nothing is called under `torch.inference_mode`, and no second "
    "derivatives are taken. What neither a document says nor a caller in the repository needs is not checked."
)
# The version is that of the machine, and no part of a task: digests leave it out.
PYTHON = f" Your code is run by Python {sys.version_info.major}.{sys.version_info.minor}."


def folder_files(folder: Path) -> dict[str, bytes]:
    """All files below a folder, by path, without litter.

    A link that leaves the folder, anything but files and folders, and more than can be read is a TaskError.
    """
    if not folder.is_dir():
        raise TaskError(f"{folder}: there is no such folder")
    files: dict[str, bytes] = {}
    left = _MOST_BYTES
    try:
        for number, path in enumerate(_below(folder, folder)):
            if number == _MOST_FILES:
                raise TaskError(f"{folder}: holds more than {_MOST_FILES} files and folders, links followed")
            if path.is_file():
                with path.open("rb") as file:
                    data = file.read(left + 1)
                left -= len(data)
                if left < 0:
                    raise TaskError(f"{path}: with it the folder holds more than {_MOST_BYTES} bytes")
                files[path.relative_to(folder).as_posix()] = data
        return dict(sorted(files.items()))
    except OSError as error:
        raise TaskError(f"{error.filename}: {error.strerror}") from error


def repository_files(task: Task) -> dict[str, bytes]:
    """The golden repository, by path: a copy, to be changed."""
    return dict(task.files.repository)


def masked_files(task: Task) -> dict[str, bytes]:
    """The repository as a solver sees it: without the bodies of all targets of the paper.

    What notebooks printed is left out too. A file of which the repository holds a second copy is a TaskError.
    """
    return dict(_masked(task.id, task.files, (*task.targets, *task.siblings))) | dict(task.files.shown)


def unsolved_files(task: Task) -> dict[str, bytes]:
    """The repository that an answer is put into: without the bodies of the task's own targets, and of no others."""
    return dict(_masked(task.id, task.files, task.targets)) | dict(task.files.shown)


def answered_files(task: Task) -> dict[str, bytes]:
    """The repository as a solver who knows the answer leaves it: without the bodies of the paper's other targets."""
    return dict(_masked(task.id, task.files, task.siblings))


@cache
def _masked(name: str, snapshot: TaskFiles, targets: tuple[Target, ...]) -> Mapping[str, bytes]:
    golden = snapshot.repository
    files = dict(golden) | _masked_goals(name, snapshot, targets)
    for goal in dict.fromkeys(target.file for target in targets):
        if copies := [path for path, data in golden.items() if path != goal and data == golden[goal]]:
            raise TaskError(f"{name}: repo/{copies[0]} is a copy of repo/{goal}, and would show the answer")
    for path in [path for path in files if path.endswith(".ipynb")]:
        files[path] = _without_outputs(files[path], f"{name}: repo/{path}")
    return files


def _masked_goals(name: str, snapshot: TaskFiles, targets: Iterable[Target]) -> dict[str, bytes]:
    """The files of these targets, without their bodies."""
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
    """All files of a workspace, by path; those of the repository lie under `repo/`."""
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
    """Write what a solver sees of a task into a folder that does not exist yet or is empty.

    Raises UsageError for a folder that is not empty.
    """
    files = workspace_files(task, inputs)
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise UsageError(f"{folder}: is not empty; a workspace needs a folder of its own")
    for path, data in files.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)


def goal_signatures(task: Task) -> dict[Target, str]:
    """Each target as the mask shows it: decorators, signature, docstring and the line that stands for the body."""
    # The goal files alone: a repository can have thousands of others.
    goals = _masked_goals(task.id, task.files, task.targets) | dict(task.files.shown)
    return {target: text for target, (_, text) in target_texts(task, goals).items()}


def target_texts(task: Task, files: Mapping[str, bytes]) -> dict[Target, tuple[int, str]]:
    """Each target as some version of the repository has it: the number of its first line, and its text, dedented.

    For files that can be trusted to take no time; `lmrbench.grading.reading` is for those of an answer.
    """
    return texts_of(task.targets, files)


def texts_of(targets: Iterable[Target], files: Mapping[str, bytes]) -> dict[Target, tuple[int, str]]:
    """`target_texts` of any targets."""
    shown = {}
    for target in targets:
        function = find(files[target.file], target.qualname)
        text = decode(files[target.file])[0]
        line_start = text.rfind("\n", 0, function.start) + 1
        shown[target] = text.count("\n", 0, line_start) + 1, textwrap.dedent(text[line_start : function.end])
    return shown


def one_text(repository: Mapping[str, bytes], task: Task) -> str:
    """The goal files of a task one after the other: a text that holds all of its targets."""
    return "\n\n".join(decode(repository[path])[0] for path in task.goal_files)


def _below(folder: Path, root: Path) -> Iterator[Path]:
    """All files and folders below a folder, without litter."""
    for path in folder.iterdir():
        if is_litter(PurePosixPath(path.relative_to(root).as_posix())):
            continue
        if path.is_symlink() and not path.resolve().is_relative_to(root.resolve()):
            raise TaskError(f"{path}: a link that leaves the repository")
        yield path
        if path.is_dir():
            yield from _below(path, root)
        elif not path.is_file():
            raise TaskError(f"{path}: neither a file nor a folder")


def _without_outputs(data: bytes, place: str) -> bytes:
    try:
        notebook: dict[str, Any] = json.loads(data)
        for cell in notebook["cells"]:
            if cell["cell_type"] == "code":
                cell |= {"outputs": [], "execution_count": None}
    except (ValueError, KeyError, TypeError) as error:
        raise TaskError(f"{place}: not a notebook") from error
    return json.dumps(notebook, indent=1, ensure_ascii=False).encode() + b"\n"


def instruction(task: Task, inputs: Inputs) -> str:
    """What a solver is asked, in Markdown: the task's own instruction, and what holds for every task."""
    packages = ", ".join(third_party_imports(task)) or "none"
    summarised = f"`paper.md` is a summary of: {task.paper.title} ({task.paper.venue} {task.paper.year})."
    imported = f"Packages that may be imported besides Python's own: {packages}.{PYTHON} {STATED}"
    if not task.targets:
        files = ", ".join(f"`{REPO}/{path}`" for path in task.goal_files)
        taken = f"{summarised} Only these files are taken from your work: {files}. Edits elsewhere do not count."
        return "\n\n".join([f"# {task.id}", task.instruction.strip(), f"{taken} {imported}"]) + "\n"
    targets = ", ".join(f"`{target}`" for target in task.targets)
    seen = {
        "full": f"The repository is in `{REPO}/`; the bodies of these functions are missing. Fill them in there.",
        "paper+file": f"Of the repository you see only the goal file, in `{REPO}/`. Fill in the function there.",
        "paper": "You see nothing of the repository but the functions below. Write them into `answer.py`.",
    }[inputs]
    parts = [
        f"# {task.id}",
        f"Implement {targets} as the paper describes it. {summarised}",
        f"{seen} Only these functions are taken from your work, and new helpers, constants and imports that they need "
        f"in the same file. Edits elsewhere do not count. {imported}",
        also_masked(task) if inputs != "paper" else "",
        logged_results() if task.files.results and inputs == "full" else "",
        task.instruction.strip(),
        RULES,
    ]
    if inputs == "paper":
        parts += [f"`{target}`:\n\n```python\n{text}\n```" for target, text in goal_signatures(task).items()]
    return "\n\n".join(filter(None, parts)) + "\n"


def logged_results() -> str:
    """What a solver is told of the results that the complete repository logged."""
    return (
        f"`{RESULTS}` holds what `run(seed)` of the complete repository's `experiment.py` returned under some seeds. "
        f"`python {REPLAY}` runs yours in the same way (one thread, double precision) and prints each metric that "
        "differs. Your work is graded under other seeds."
    )


def also_masked(task: Task) -> str:
    """What a solver is told of the paper's other targets; empty if there are none."""
    if not task.siblings:
        return ""
    others = ", ".join(f"`{target.qualname}` of `{target.file}`" for target in task.siblings)
    return (
        f"Also masked, and not asked for: {others}. Leave them as they are: your work is graded in a repository in "
        "which they are complete."
    )


def third_party_imports(task: Task) -> tuple[str, ...]:
    """The top-level imports of repository and check that neither Python nor the repository provides, sorted."""
    return _third_party_imports(task.files)


@cache
def _third_party_imports(files: TaskFiles) -> tuple[str, ...]:
    if files.imports is not None:
        return tuple(sorted(files.imports))
    return tuple(sorted(imported_from_elsewhere(files.repository, files.check)))


def imported_from_elsewhere(repository: Mapping[str, bytes], *others: str) -> set[str]:
    """The top-level imports of a repository's files, and of other texts, that neither Python nor it provides."""
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
            tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return frozenset()
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        # Expressions, most of a tree, hold no imports.
        for name in ("body", "orelse", "finalbody", "handlers", "cases"):
            waiting += getattr(node, name, ())
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module.partition(".")[0])
    return frozenset(names)
