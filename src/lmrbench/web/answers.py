"""Compare the code of an answer with the masked repository, the reference or another answer, for display on a page.

The targets of a task are the functions that an answer must implement. They are masked (their bodies are removed) in the
repository, and an answer is transplanted into it. Goal files are the files that contain targets.
"""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from lmrbench.errors import SubmissionError
from lmrbench.grading.reading import read_targets
from lmrbench.tasks.model import Task
from lmrbench.tasks.submission import Submission
from lmrbench.tasks.workspace import repository_files, target_texts, unsolved_files
from lmrbench.web.code import ComparedLine, changed_lines, highlighted, side_by_side


@dataclass(frozen=True)
class AnswerComparison:
    """The code transplanted from an answer, compared with the masked repository or the reference.

    Attributes:
        targets: The name of each target, with the comparison of its code.
        files: The path of each goal file, with its changed lines and a few lines of context.
        refusal: The reason why the answer could not be transplanted; "" if it was.
    """

    targets: tuple[tuple[str, list[ComparedLine]], ...] = ()
    files: tuple[tuple[str, list[ComparedLine]], ...] = ()
    refusal: str = ""


def compare_with_repository(task: Task | None, submission: Submission | None, show_reference: bool) -> AnswerComparison:
    """Compare an answer with the task's masked repository or its reference.

    Args:
        task: The task, or None if it is not in the suite.
        submission: The answer, or None if it is not in the run.
        show_reference: Whether to compare with the reference instead of the masked repository.

    Returns:
        The comparison; empty if the task or the submission is None.
    """
    if task is None or submission is None:
        return AnswerComparison()
    try:
        answered, there = read_targets(task, submission)
    except SubmissionError as error:
        return AnswerComparison(refusal=str(error))
    before = repository_files(task) if show_reference else unsolved_files(task)
    here = target_texts(task, before)
    targets = []
    for target in task.targets:
        (left_line, left), (right_line, right) = here[target], there[target]
        targets.append((str(target), list(side_by_side(left, right, left_line, right_line))))
    files = []
    for name in task.goal_files:
        left, right = (data.decode("utf-8", "replace") for data in (before[name], answered[name]))
        files.append((name, changed_lines(side_by_side(left, right))))
    return AnswerComparison(tuple(targets), tuple(files))


def compare_answers(
    task: Task | None, left: Submission | None, right: Submission | None
) -> list[tuple[str, list[ComparedLine]]]:
    """Compare two answers to one task.

    Args:
        task: The task, or None if it is not in the suite.
        left: The first answer, or None if it is not in the run.
        right: The second answer, or None if it is not in the run.

    Returns:
        The name of each target, with the comparison of its code. If an answer can't be transplanted, its files are
        compared instead.
    """
    texts = _target_texts(task, left), _target_texts(task, right)
    names = dict.fromkeys([*texts[0], *texts[1]])
    return [(name, list(side_by_side(texts[0].get(name, ""), texts[1].get(name, "")))) for name in names]


def _target_texts(task: Task | None, submission: Submission | None) -> dict[str, str]:
    """Return the code of an answer by target, or by file if it can't be transplanted."""
    if submission is None:
        return {}
    if task is not None:
        try:
            return {str(target): text for target, (_, text) in read_targets(task, submission)[1].items()}
        except SubmissionError:
            pass
    return _submitted_texts(submission)


def _submitted_texts(submission: Submission) -> dict[str, str]:
    return {"answer": submission.code} if isinstance(submission.code, str) else dict(submission.code)


def submitted_files(submission: Submission) -> list[tuple[str, list[Markup]]]:
    """Return the name and the highlighted lines of each file of a submission, as it was submitted."""
    return [(name, highlighted(text)) for name, text in _submitted_texts(submission).items()]
