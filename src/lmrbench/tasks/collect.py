"""What came back from a solver: a response, an edited workspace, a diff. Which Python text holds the targets?

`candidate_files` transplants a submission into a fresh mask; `transplanted` is the same by value. What a solver changed
outside of the goal files is a warning, and never read further than to see that it differs. Whatever can't be used is a
`SubmissionError`, the candidate's fault.
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
    """The whole repository with the submission's targets in place, and what of the submission was left out.

    For submissions that can be trusted to take no time; `lmrbench.grading.reading` is for all others.
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
    """The unsolved goal files with the targets of the code in place, and what of the code was left out.

    Goal files without targets are taken whole. shown: the goal files as the solver saw them. code: by goal file, or one
    text that holds the targets of all.
    """
    one_text = isinstance(code, str)
    if one_text and not targets:
        raise SubmissionError(f"each of these files must be handed in whole: {', '.join(unsolved)}")
    by_file = dict.fromkeys(unsolved, code) if isinstance(code, str) else code
    warnings = [f"{printable(name)}: is no goal file; left out" for name in by_file if name not in unsolved]
    files, left_out = {}, []
    for file, data in unsolved.items():
        if file not in by_file:
            raise SubmissionError(f"nothing was handed in for {file}")
        wanted = [target.qualname for target in targets if target.file == file]
        if not wanted:
            files[file] = _whole(by_file[file], file)
            continue
        try:
            response = from_response(by_file[file], wanted, names_of(data))
            result = transplant(data, response.text, wanted)
            # What was changed is told from what was shown, in which the paper's other targets are masked too.
            seen = result if shown[file] == data else transplant(shown[file], response.text, wanted)
        except SubmissionError as error:
            raise SubmissionError(f"{file}: {error}") from error
        files[file] = result.data
        left_out.append((*response.warnings, *seen.warnings))
    for said in left_out[:1] if one_text else left_out:
        # What one file has no use for belongs to another of them.
        warnings += [line for line in said if not one_text or all(line in others for others in left_out)]
    return files, shortened(warnings, MAX_WARNINGS)


def _whole(text: str, file: str) -> bytes:
    """A file that is handed in whole."""
    try:
        syntax_tree(text)
    except SyntaxError as error:
        raise SubmissionError(f"{file}: {printable(describe(error))}") from error
    return text.encode()


def excerpts(
    unsolved: Mapping[str, bytes], answered: Mapping[str, bytes], targets: Sequence[Target], stripped: bool
) -> dict[str, str]:
    """By goal file, the targets of an answered file and what was transplanted beside them.

    answered: the goal files with the targets in place. stripped: leave comments and docstrings out.
    """
    found = {}
    for file, data in unsolved.items():
        texts = [decode(item)[0] for item in (data, answered[file])]
        masked, text = map(bare, texts) if stripped else texts
        found[file] = excerpt(masked, text, [target.qualname for target in targets if target.file == file])
    return found


def is_untouched(task: Task, submission: Submission) -> bool:
    """Whether a submission holds the goal files as a solver was given them."""
    masked = masked_files(task)
    return submission.code == {file: decode(masked[file])[0] for file in task.goal_files}


def workspace_answer(task: Task, folder: Path) -> tuple[dict[str, bytes], tuple[str, ...]]:
    """The goal files of an edited workspace, and what else was changed there.

    `folder` is what `export_workspace` wrote, with any inputs.
    """
    answer = {}
    for file in task.goal_files:
        data = read_foreign(folder, f"{REPO}/{file}", MAX_CODE_BYTES)
        if data is None:
            data = read_foreign(folder, ANSWER, MAX_CODE_BYTES)
        if data is None:
            raise SubmissionError(f"{REPO}/{file}: there is no such file, and no {ANSWER}")
        answer[file] = data
    given = workspace_files(task, "full")
    unchanged = [file for file, data in answer.items() if data == given[f"{REPO}/{file}"]]
    if not task.targets and len(unchanged) < len(answer):
        # Of files that are handed in whole, few need a change.
        unchanged = []
    warnings = [f"{REPO}/{file}: is as it was handed out" for file in unchanged]
    warnings += _changes(folder, given, {f"{REPO}/{file}" for file in task.goal_files})
    return answer, shortened(warnings, MAX_WARNINGS)


def decoded(data: bytes, name: str) -> str:
    """The text of a file that a solver wrote, decoded by PEP 263."""
    try:
        return decode(data)[0]
    except SyntaxError as error:
        raise SubmissionError(f"{printable(name)}: {printable(describe(error))}") from error


def _changes(folder: Path, given: Mapping[str, bytes], goals: set[str]) -> list[str]:
    """What else differs from the workspace that was handed out."""
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
        changes += [f"{name}: removed; left out" for name in sorted(given.keys() - seen - goals)]
    return changes


def _same(folder: Path, name: str, data: bytes) -> bool:
    try:
        return read_foreign(folder, name, len(data)) == data
    except SubmissionError:
        return False
