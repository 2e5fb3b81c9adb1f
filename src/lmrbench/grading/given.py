"""Find the cases that an empty answer matches. Such cases do not count in `Grade.share`, the reward in training.

There are two empty answers to each task: in one, every function only raises ValueError; in the other, every function
only returns None.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from lmrbench.errors import SubmissionError
from lmrbench.grading.compare import compare
from lmrbench.grading.nearest import with_bodies
from lmrbench.sandbox.inside.encoding import decode
from lmrbench.sandbox.protocol import Job, Outcome
from lmrbench.tasks.collect import candidate_files
from lmrbench.tasks.model import Task

EMPTY_BODIES = ("raise ValueError", "return None")


def empty_jobs(task: Task, reference: Job) -> Iterator[Job]:
    """Yield a sandbox job for each empty answer to a task.

    Args:
        task: A task with a check.
        reference: The job that runs the task's reference. The new jobs run the same cases.
    """
    for files in _empty_answers(task):
        yield replace(reference, files=files, confirmed=False)


def matches(task: Task, wanted: Sequence[Any], outcome: Outcome) -> list[bool]:
    """Return, for each case, whether an empty answer's outcome agrees with `wanted`, the reference's observations."""
    return [
        case.status == "observed" and not compare(item, decode(case.payload), task.bounds)
        for item, case in zip(wanted, outcome.cases, strict=True)
    ]


def _empty_answers(task: Task) -> Iterator[Mapping[str, bytes]]:
    for body in EMPTY_BODIES if task.targets else ():
        try:
            yield candidate_files(task, with_bodies(task, "empty", dict.fromkeys(task.targets, body)))[0]
        except SubmissionError:
            continue
