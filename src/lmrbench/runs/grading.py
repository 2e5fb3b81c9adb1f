"""Grade submissions into a run folder, and resume a run that was killed.

Grading the same submissions into the same folder again takes over every grade that still holds and makes the others
anew, also those with a case that timed out by the wall clock. Only signed grades that this installation wrote are taken
over; the others are moved to `grades.unverified.jsonl`. No submission and no grade is ever lost. A grade that is timed
later is appended once more, with its timing; the last one counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from lmrbench.errors import RecordError
from lmrbench.files import append_whole, locked, write_whole
from lmrbench.grading.candidates import prepare
from lmrbench.grading.grader import Grader
from lmrbench.grading.records import Grade, GradeTerms
from lmrbench.grading.signatures import verified
from lmrbench.grading.speed import measure
from lmrbench.jsonl import read_lines, whole_lines
from lmrbench.records import read_record
from lmrbench.runs.folder import (
    GRADES,
    SUBMISSIONS,
    UNVERIFIED,
    append_grade,
    read_facts,
    run_facts,
    write_facts,
    write_submissions,
)
from lmrbench.sandbox.protocol import WorkerPool
from lmrbench.tasks.model import Task
from lmrbench.tasks.submission import Submission


def grade_run(
    folder: Path,
    submissions: Sequence[Submission],
    grader: Grader,
    source: str | None = None,
    observed: Callable[[Task, int], None] = lambda task, seed: None,
    set_aside: Callable[[int], None] = lambda count: None,
) -> Iterator[Grade]:
    """Grade submissions into a run folder. Other submissions there stay.

    Args:
        folder: a new folder, or one to resume.
        submissions: each of a task of the grader's suite.
        grader: of the whole suite.
        source: see `RunFacts`; what the folder has, if None.
        observed: called after each reference.
        set_aside: called with the number of grades there that this installation did not write, if there are any.

    Yields:
        Each grade once it is on the disk.

    Raises:
        RecordError: another process is writing to the folder, or it holds grades of another kind: with reasons or
            without, of all cases or not.
    """
    plan, tasks = grader.plan, grader.tasks
    with locked(folder):
        before = read_facts(folder)
        if before is not None and whole_lines(folder / GRADES):
            if before.blind != plan.blind:
                kind = "without reasons (--blind)" if before.blind else "with reasons"
                raise RecordError(f"{folder}: holds grades {kind}; name another folder with --out")
            if before.fail_fast != plan.fail_fast:
                kind = "that end at the first failure (--fail-fast)" if before.fail_fast else "of all cases"
                raise RecordError(f"{folder}: holds grades {kind}; name another folder with --out")
        write_submissions(folder, submissions)
        named = {item.task for item in read_lines(folder / SUBMISSIONS, Submission)}
        known = [task for task in tasks.values() if task.id in named]
        facts = run_facts(tasks.values(), known, grader.seeds, grader.sandbox, before.solving if before else None)
        if source is None:
            source = before.source if before else ""
        told = {"fresh_seeds": plan.fresh_seeds, "blind": plan.blind, "fail_fast": plan.fail_fast, "source": source}
        write_facts(folder, facts.model_copy(update=told))
        yield from grade_into(folder, submissions, grader, observed, set_aside)


def grade_into(
    folder: Path,
    submissions: Sequence[Submission],
    grader: Grader,
    observed: Callable[[Task, int], None] = lambda task, seed: None,
    set_aside: Callable[[int], None] = lambda count: None,
) -> Iterator[Grade]:
    """Yield the grades of a run folder that hold, and make the others; the caller holds the folder's lock.

    Arguments are those of `grade_run`.
    """
    earlier, foreign = take_over(folder)
    if foreign:
        set_aside(foreign)
    known = (read_record(data, Grade, str(folder / GRADES)) for data in earlier.values())
    for _, item in grader.grade_all(submissions, known, observed):
        result = item.blinded() if grader.plan.blind else item
        if item.terms not in earlier:
            append_grade(folder, result)
        yield result


def take_over(folder: Path) -> tuple[dict[GradeTerms, bytes], int]:
    """Move grades that this installation did not write out of the way.

    Grades that a busy machine may have decided stay where they are, and are not taken over.

    Returns:
        The grades that hold, as JSON by their terms, and the number of grades that were moved.
    """
    grades: dict[GradeTerms, bytes] = {}
    ours: list[bytes] = []
    others: list[bytes] = []
    for _, line in whole_lines(folder / GRADES):
        data = verified(line)
        try:
            if data is None:
                raise RecordError(f"{folder / GRADES}: not signed here")
            item = read_record(data, Grade, str(folder / GRADES))
            if not item.may_be_the_machines:
                grades[item.terms] = data
            ours.append(line)
        except RecordError:
            others.append(line)
    for line in others:
        append_whole(folder / UNVERIFIED, line + b"\n")
    if others:
        write_whole(folder / GRADES, b"".join(line + b"\n" for line in ours))
    return grades, len(others)


def time_run(
    folder: Path,
    grades: Iterable[Grade],
    submissions: Sequence[Submission],
    tasks: Mapping[str, Task],
    pool: WorkerPool,
) -> Iterator[Grade]:
    """Time answers of a run folder.

    Args:
        folder: the run folder.
        grades: of answers that pass, to tasks with timed inputs; those that have a timing are given back.
        submissions: with these answers.
        tasks: by id.
        pool: of a single worker; see `speed.measure`.

    Yields:
        Each grade with its timing, once that is on the disk.

    Raises:
        RecordError: another process is writing to the folder.
    """
    answers = {item.answer: item for item in submissions}
    with locked(folder):
        for item in grades:
            if item.timing is None:
                candidate = prepare(answers[item.answer], tasks[item.task])
                item = item.model_copy(update={"timing": measure(candidate, item.seeds[0], pool)})
                append_grade(folder, item)
            yield item
