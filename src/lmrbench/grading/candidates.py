"""Prepare submissions for grading: transplant each into a fresh masked repository, or refuse it with a reason.

The masked repository is the paper's repository without the bodies of the targets, the functions to implement. A
transplant replaces the targets with the submitted functions, and adds the code that these functions need.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from lmrbench.errors import LmrbenchError, SubmissionError
from lmrbench.grading.reading import SIDE_BY_SIDE, read_submission
from lmrbench.tasks.digests import files_digest
from lmrbench.tasks.model import Task
from lmrbench.tasks.submission import Submission


@dataclass(frozen=True)
class Candidate:
    """A submission that was prepared for grading.

    Attributes:
        submission: The submission.
        task: The task that it answers.
        files: The contents of the repository's files after the transplant, by path; None if the submission can't be
            used.
        refusal: Why the submission can't be used; empty if it can.
        warnings: Messages about parts of the submission that were left out.
        digest: A digest of `files`; if the submission can't be used, of its code and `refusal`.
    """

    submission: Submission
    task: Task
    files: Mapping[str, bytes] | None
    refusal: str
    warnings: tuple[str, ...]
    digest: str

    @property
    def goal_files(self) -> dict[str, bytes]:
        """The contents of the files that contain the targets, by path; empty if the submission can't be used."""
        return {name: self.files[name] for name in self.task.goal_files} if self.files else {}


def prepare(submission: Submission, task: Task) -> Candidate:
    """Transplant a submission into a fresh masked repository.

    Args:
        submission: The submission; it may be unusable.
        task: The task that it answers.

    Returns:
        The candidate, without files if the submission can't be used.

    Raises:
        LmrbenchError: The task or the machine is at fault.
    """
    try:
        files, warnings = read_submission(task, submission)
    except Exception as error:
        # If there is no code, the first warning from collecting the answer is more helpful than the error.
        refusal = refusal_of(error) if submission.code or not submission.warnings else submission.warnings[0]
        text = json.dumps({"code": submission.code, "refusal": refusal}, sort_keys=True)
        return Candidate(submission, task, None, refusal, submission.warnings, files_digest({"": text.encode()}))
    return Candidate(submission, task, files, "", (*submission.warnings, *warnings), files_digest(files))


def refusal_of(error: Exception) -> str:
    """Return why a submission is refused, given the error that reading it raised.

    Re-raises the error if the machine or the task is at fault.
    """
    if isinstance(error, SubmissionError):
        return str(error)
    if isinstance(error, LmrbenchError | OSError | MemoryError):
        raise error
    return f"the harness failed on this answer: {type(error).__name__}: {error}"


def prepared(submissions: Sequence[Submission], tasks: Mapping[str, Task]) -> Iterator[Candidate]:
    """Prepare submissions, several at a time, and yield the candidates in the order of the submissions."""
    with ThreadPoolExecutor(SIDE_BY_SIDE) as threads:
        ready = [threads.submit(prepare, item, tasks[item.task]) for item in submissions]
        try:
            for candidate in ready:
                yield candidate.result()
        finally:
            for candidate in ready:
                candidate.cancel()
