"""Collect a solver's response or edited workspace, and transplant it into a freshly masked repository.

The transplant replaces the masked functions by the solver's, and adds the code that these need. Only changes in the
goal files, which contain the masked functions, are used; other changes are reported as warnings. Input that cannot be
used raises `SubmissionError`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from lmrbench.errors import SubmissionError
from lmrbench.source.differences import shortened
from lmrbench.source.excerpt import bare, excerpt
from lmrbench.source.responses import from_response
from lmrbench.source.syntax import decode, describe, syntax_tree
from lmrbench.source.transplant import names_of, transplant
from lmrbench.tasks.foreign import entries, read_foreign
from lmrbench.tasks.model import Target, Task
from lmrbench.tasks.patches import MAX_WARNINGS
from lmrbench.tasks.submission import MAX_CODE_BYTES, Submission
from lmrbench.tasks.workspace import REPO, masked_files, unsolved_files, workspace_files
from lmrbench.text import printable

ANSWER = "answer.py"


def candidate_files(task: Task, submission: Submission) -> tuple[dict[str, bytes], tuple[str, ...]]:
    """Transplant a submission into the repository in which only the task's own targets are masked.

    Use it for trusted submissions only; `lmrbench.grading.reading` reads untrusted ones in bounded time.

    Returns:
        All files of the repository by path, and a line for each part of the submission that was left out.

    Raises:
        SubmissionError: The submission cannot be used.
    """
    unsolved, shown = unsolved_files(task), masked_files(task)
    goals = {name: unsolved[name] for name in task.goal_files}
    files, warnings = transplanted(goals, shown, task.targets, submission.code)
    return {**unsolved, **files}, warnings


def transplanted(
    unsolved: Mapping[str, bytes],
    shown: Mapping[str, bytes],
    targets: Sequence[Target],
    code: str | Mapping[str, str],
) -> tuple[dict[str, bytes], tuple[str, ...]]:
    """Transplant code into the goal files. Goal files without targets are taken whole.

    Args:
        unsolved: The goal files without the bodies of the targets, by path.
        shown: The goal files as the solver saw them, by path.
        targets: The targets in these files.
        code: The code of each goal file, or one text with all targets.

    Returns:
        The goal files by path, and a line for each part of the code that was left out.

    Raises:
        SubmissionError: The code cannot be used.
    """
    one_text = isinstance(code, str)
    if one_text and not targets:
        raise SubmissionError(f"the code is a single text; submit each of these files whole: {', '.join(unsolved)}")
    by_file = dict.fromkeys(unsolved, code) if isinstance(code, str) else code
    warnings = [f"{printable(name)}: not a goal file; left out" for name in by_file if name not in unsolved]
    files, left_out = {}, []
    for file, data in unsolved.items():
        if file not in by_file:
            raise SubmissionError(f"the submission has no code for {file}")
        wanted = [target.qualname for target in targets if target.file == file]
        elsewhere = {target.qualname.partition(".")[0] for target in targets if target.file != file}
        if not wanted:
            files[file] = _whole(by_file[file], file)
            continue
        try:
            response = from_response(by_file[file], wanted, names_of(data))
            result = transplant(data, response.text, wanted, elsewhere)
            # Warnings refer to the file that the solver saw, in which the paper's other targets are masked too.
            seen = result if shown[file] == data else transplant(shown[file], response.text, wanted, elsewhere)
        except SubmissionError as error:
            raise SubmissionError(f"{file}: {error}") from error
        files[file] = result.data
        left_out.append((*response.warnings, *seen.warnings))
    for said in left_out[:1] if one_text else left_out:
        # If one text is used for all files, a part of it counts as left out only if no file uses it.
        warnings += [line for line in said if not one_text or all(line in others for others in left_out)]
    return files, shortened(warnings, MAX_WARNINGS)


def _whole(text: str, file: str) -> bytes:
    """Return the content of a file that is submitted whole, after checking that it can be parsed."""
    try:
        syntax_tree(text)
    except SyntaxError as error:
        raise SubmissionError(f"{file}: {printable(describe(error))}") from error
    return text.encode()


def excerpts(
    unsolved: Mapping[str, bytes], answered: Mapping[str, bytes], targets: Sequence[Target], stripped: bool
) -> dict[str, str]:
    """Return the transplanted code of each goal file, by path.

    Args:
        unsolved: The goal files without the bodies of the targets, by path.
        answered: The goal files after the transplant.
        targets: The targets in these files.
        stripped: Whether to remove comments and docstrings.
    """
    found = {}
    for file, data in unsolved.items():
        texts = [decode(item)[0] for item in (data, answered[file])]
        masked, text = map(bare, texts) if stripped else texts
        found[file] = excerpt(masked, text, [target.qualname for target in targets if target.file == file])
    return found


def is_untouched(task: Task, submission: Submission) -> bool:
    """Return whether a submission consists of the unchanged goal files of the workspace."""
    masked = masked_files(task)
    return submission.code == {file: decode(masked[file])[0] for file in task.goal_files}


def workspace_answer(task: Task, folder: Path) -> tuple[dict[str, bytes], tuple[str, ...]]:
    """Read the goal files of an edited workspace. `answer.py` is read in place of a goal file that is missing.

    Args:
        task: The task of the workspace.
        folder: The workspace, as written by `export_workspace` with any value of `inputs`.

    Returns:
        The goal files by path, and a warning for each unchanged goal file and each change outside of the goal files.

    Raises:
        SubmissionError: A goal file is missing and there is no `answer.py`, or a file cannot be read.
    """
    answer = {}
    for file in task.goal_files:
        data = read_foreign(folder, f"{REPO}/{file}", MAX_CODE_BYTES)
        if data is None:
            data = read_foreign(folder, ANSWER, MAX_CODE_BYTES)
        if data is None:
            raise SubmissionError(f"{REPO}/{file}: neither this file nor {ANSWER} is in the workspace")
        answer[file] = data
    given = workspace_files(task, "full")
    unchanged = [file for file, data in answer.items() if data == given[f"{REPO}/{file}"]]
    if not task.targets and len(unchanged) < len(answer):
        # If files are submitted whole, a correct solution need not change all of them.
        unchanged = []
    warnings = [f"{REPO}/{file}: unchanged" for file in unchanged]
    warnings += _changes(folder, given, {f"{REPO}/{file}" for file in task.goal_files})
    return answer, shortened(warnings, MAX_WARNINGS)


def decoded(data: bytes, name: str) -> str:
    """Decode a solver's Python file as specified by PEP 263. `name` is only used in error messages.

    Raises:
        SubmissionError: The file cannot be decoded.
    """
    try:
        return decode(data)[0]
    except SyntaxError as error:
        raise SubmissionError(f"{printable(name)}: {printable(describe(error))}") from error


def _changes(folder: Path, given: Mapping[str, bytes], goals: set[str]) -> list[str]:
    """Describe all differences from the exported workspace outside the goal files."""
    changes = []
    seen = set()
    whole = True
    for name, kind in entries(folder):
        if kind:
            changes.append(f"{printable(name)}: {kind}" if name else kind)
            whole = whole and bool(name)
            continue
        seen.add(name)
        if name not in given and name != ANSWER:
            changes.append(f"{printable(name)}: added; left out")
        elif name not in goals and name not in ("instruction.md", ANSWER) and not _same(folder, name, given[name]):
            changes.append(f"{name}: changed; left out")
    if whole and any(name.startswith(f"{REPO}/") and name not in goals for name in seen):
        changes += [f"{name}: removed; the removal is ignored" for name in sorted(given.keys() - seen - goals)]
    return changes


def _same(folder: Path, name: str, data: bytes) -> bool:
    try:
        return read_foreign(folder, name, len(data)) == data
    except SubmissionError:
        return False
