"""What of an answer is shown: what was taken of it, beside what stood there before, or beside another answer."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from lmrbench.errors import SubmissionError
from lmrbench.grading.reading import read_targets
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
        answered, there = read_targets(task, submission)
    except SubmissionError as error:
        return Taken(refusal=str(error))
    before = repository_files(task) if show_reference else unsolved_files(task)
    here = target_texts(task, before)
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


def beside_each_other(
    task: Task | None, left: Submission | None, right: Submission | None
) -> list[tuple[str, list[Line]]]:
    """Two answers to one task: each target, or each text that was handed in, side by side."""
    texts = taken_texts(task, left), taken_texts(task, right)
    names = dict.fromkeys([*texts[0], *texts[1]])
    here, there = ({name: text.get(name, (1, ""))[1] for name in names} for text in texts)
    return [(name, list(beside(here[name], there[name]))) for name in names]


def taken_texts(task: Task | None, submission: Submission | None) -> dict[str, tuple[int, str]]:
    """What was taken of an answer, by target; the answer as it came, where nothing was."""
    if submission is None:
        return {}
    if task is not None:
        try:
            return {str(target): text for target, text in read_targets(task, submission)[1].items()}
        except SubmissionError:
            pass
    return {name: (1, text) for name, text in _texts(submission).items()}


def _texts(submission: Submission) -> dict[str, str]:
    """An answer as it came, by file."""
    return {"answer": submission.code} if isinstance(submission.code, str) else dict(submission.code)


def handed_in(submission: Submission) -> list[tuple[str, list[Markup]]]:
    """An answer as it came: the lines of each file."""
    return [(name, coloured(text)) for name, text in _texts(submission).items()]
