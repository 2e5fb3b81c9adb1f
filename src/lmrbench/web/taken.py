"""What of an answer is shown: what was taken of it, beside what stood there before, or beside another answer."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from lmrbench.errors import SubmissionError
from lmrbench.grading.reading import read_submission
from lmrbench.tasks.model import Task
from lmrbench.tasks.submission import Submission
from lmrbench.tasks.workspace import repository_files, target_texts, unsolved_files
from lmrbench.web.code import Line, beside, changes, coloured


@dataclass(frozen=True)
class Taken:
    """What was taken of an answer, beside what stood there before: each target, then all changes of each goal file.

    refusal: why nothing was taken.
    """

    targets: tuple[tuple[str, list[Line]], ...] = ()
    files: tuple[tuple[str, list[Line]], ...] = ()
    refusal: str = ""


def beside_before(task: Task | None, submission: Submission | None, show_reference: bool) -> Taken:
    """An answer beside the masked repository, or the reference; nothing where task or answer is not known."""
    if task is None or submission is None:
        return Taken()
    try:
        answered, _ = read_submission(task, submission)
    except SubmissionError as error:
        return Taken(refusal=str(error))
    before = repository_files(task) if show_reference else unsolved_files(task)
    here, there = target_texts(task, before), target_texts(task, answered)
    return Taken(
        tuple(
            (str(target), list(beside(here[target][1], there[target][1], here[target][0], there[target][0])))
            for target in task.targets
        ),
        tuple(
            (name, changes(beside(before[name].decode("utf-8", "replace"), answered[name].decode("utf-8", "replace"))))
            for name in task.goal_files
        ),
    )


def taken_texts(task: Task | None, submission: Submission | None) -> dict[str, tuple[int, str]]:
    """What was taken of an answer, by target; the answer as it came, where nothing was."""
    if submission is None:
        return {}
    if task is not None:
        try:
            files, _ = read_submission(task, submission)
            return {str(target): text for target, text in target_texts(task, files).items()}
        except SubmissionError:
            pass
    return {name: (1, text) for name, text in _texts(submission).items()}


def _texts(submission: Submission) -> dict[str, str]:
    """An answer as it came, by file."""
    return {"answer": submission.code} if isinstance(submission.code, str) else dict(submission.code)


def handed_in(submission: Submission) -> list[tuple[str, list[Markup]]]:
    """An answer as it came: the lines of each file."""
    return [(name, coloured(text)) for name, text in _texts(submission).items()]
