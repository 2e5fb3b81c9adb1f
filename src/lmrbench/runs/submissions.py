"""Read the answers that solvers return, and store them in files with one line for each answer."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from lmrbench.errors import UsageError
from lmrbench.files import write_whole
from lmrbench.grading.reading import collect, collect_text, read_submission
from lmrbench.jsonl import append_line, read_lines
from lmrbench.tasks.collect import is_untouched
from lmrbench.tasks.model import Task
from lmrbench.tasks.submission import MAX_CODE_BYTES, Answer, ForeignSubmission, Submission
from lmrbench.tasks.workspace import masked_files
from lmrbench.text import counted


class Collected(NamedTuple):
    """An answer that a solver returned.

    Attributes:
        submission: The answer.
        warnings: Warnings about the answer.
        untouched: Whether the masked functions are unchanged since they were exported.
    """

    submission: Submission
    warnings: tuple[str, ...]
    untouched: bool


def collected(task: Task, path: Path, system: str, sample: int) -> Collected:
    """Read an answer to a task from a workspace or a file; "-" reads standard input.

    Raises SubmissionError for an answer that can't be used.
    """
    if str(path) == "-":
        text = sys.stdin.buffer.read(MAX_CODE_BYTES + 1)
        submission = collect_text(task, text, "standard input", system, sample)
    else:
        submission = collect(task, path, system, sample)
    answered, warnings = read_submission(task, submission)
    masked = masked_files(task)
    untouched = is_untouched(task, submission) or all(answered[file] == masked[file] for file in task.goal_files)
    return Collected(submission, (*submission.warnings, *warnings), untouched)


def collect_into(
    file: Path,
    path: Path,
    find: Callable[[str], Task],
    task: str | None,
    system: str,
    sample: int,
    warn: Callable[[str], None],
) -> tuple[list[Submission], set[Answer]]:
    """Read answers from a workspace, a folder of exported workspaces or a file, and write them as submissions.

    Workspaces in which nothing was filled in are left out.

    Args:
        file: The file of submissions to write to.
        path: The workspace, folder of workspaces or file to read; "-" reads standard input.
        find: Returns the task with a given id.
        task: The id of the task; by default the last two parts of the path of a workspace.
        system: The system that made the answers.
        sample: The number of each answer among the system's answers to the same task.
        warn: Called with each warning, including one for each workspace that is left out.

    Returns:
        The submissions, and the keys of those that replaced an earlier submission.

    Raises:
        SubmissionError: An answer can't be used.
        UsageError: Nothing was filled in, so nothing was written.
    """
    exported = [] if task else exported_workspaces(path)
    filled_in = []
    for folder in exported or [path]:
        answer = collected(find(task or "/".join(folder.resolve().parts[-2:])), folder, system, sample)
        for warning in answer.warnings:
            warn(warning)
        if answer.untouched:
            warn(f"{folder}: the masked functions are unchanged; left out")
        else:
            filled_in.append(answer.submission)
    if not filled_in:
        what = f"none of {counted(len(exported), 'workspace')} was" if exported else "nothing was"
        raise UsageError(f"{path}: {what} filled in; nothing was written to {file}")
    return filled_in, put(file, filled_in)


def exported_workspaces(folder: Path) -> list[Path]:
    """Return the workspaces in a folder that `lmrbench export` wrote."""
    return sorted(item.parent for item in folder.glob("*/*/instruction.md"))


def put(file: Path, submissions: Sequence[Submission]) -> set[Answer]:
    """Write submissions to a file, and return the keys of those that replaced an earlier submission."""
    kept = {item.answer: item for item in (line.submission() for line in read_lines(file, ForeignSubmission))}
    replaced = {item.answer for item in submissions if item.answer in kept}
    if replaced:
        kept |= {item.answer: item for item in submissions}
        write_whole(file, "".join(item.model_dump_json() + "\n" for item in kept.values()).encode())
    else:
        for item in submissions:
            append_line(file, item)
    return replaced
