"""Grade submissions into a run folder, and resume a run that was killed.

When the same submissions are graded into the same folder again, valid grades are reused. Answers whose grade contains a
wall-clock timeout are graded again. Grades that this installation did not sign are moved to `grades.unverified.jsonl`,
and their answers are graded again. No submission and no grade is ever deleted. When the speed of an answer is measured
later, its grade is appended once more, with the timing; the last grade of an answer counts.
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
    """Grade submissions into a run folder. Other submissions in the folder are kept.

    Args:
        folder: A new folder, or one to resume.
        submissions: Submissions to tasks of the grader's suite.
        grader: A grader for the whole suite.
        source: The value to store in `RunFacts.source`; None to keep the stored value.
        observed: Called with the task and the seed each time a reference has been observed.
        set_aside: Called with the number of grades that this installation did not sign, if there are any.

    Yields:
        Each grade once it is on disk.

    Raises:
        RecordError: Another process is writing to the folder, or its grades were made with different `blind` or
            `fail_fast` settings.
    """
    plan, tasks = grader.plan, grader.tasks
    with locked(folder):
        before = read_facts(folder)
        if before is not None and whole_lines(folder / GRADES):
            if before.blind != plan.blind:
                kind = "without reasons (--blind)" if before.blind else "with reasons"
                raise RecordError(f"{folder} contains grades {kind}; choose another folder with --out")
            if before.fail_fast != plan.fail_fast:
                kind = "for the cases up to the first failure (--fail-fast)" if before.fail_fast else "for all cases"
                raise RecordError(f"{folder} contains grades {kind}; choose another folder with --out")
        write_submissions(folder, submissions)
        named = {item.task for item in read_lines(folder / SUBMISSIONS, Submission)}
        # Tasks without a check are not run, so the packages that they import need not be installed.
        known = [task for task in tasks.values() if task.id in named and task.files.check]
        facts = run_facts(tasks.values(), known, grader.seeds, grader.sandbox, before.solving if before else None)
        if source is None:
            source = before.source if before else ""
        of_plan = {"fresh_seeds": plan.fresh_seeds, "blind": plan.blind, "fail_fast": plan.fail_fast}
        write_facts(folder, facts.model_copy(update={**of_plan, "source": source}))
        yield from grade_into(folder, submissions, grader, observed, set_aside)


def grade_into(
    folder: Path,
    submissions: Sequence[Submission],
    grader: Grader,
    observed: Callable[[Task, int], None] = lambda task, seed: None,
    set_aside: Callable[[int], None] = lambda count: None,
) -> Iterator[Grade]:
    """Yield the valid grades of a run folder, and grade the other submissions. The caller must hold the folder's lock.

    Args:
        folder: The run folder.
        submissions: See `grade_run`.
        grader: See `grade_run`.
        observed: See `grade_run`.
        set_aside: See `grade_run`.

    Yields:
        Each grade once it is on disk.
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
    """Return the grades to reuse, and move grades that are unsigned or damaged to `grades.unverified.jsonl`.

    Grades with a timeout that may be due to a busy machine stay in the file but are not reused.

    Args:
        folder: The run folder.

    Returns:
        The JSON of each reusable grade by its terms (see `GradeTerms`), and the number of grades that were moved.
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
    """Measure the speed of passing answers in a run folder.

    Args:
        folder: The run folder.
        grades: The grades of passing answers to tasks whose check provides timed inputs. Grades that have a timing are
            yielded unchanged.
        submissions: The submissions of the folder.
        tasks: The tasks by id.
        pool: A pool with a single worker; see `lmrbench.grading.speed.measure`.

    Yields:
        Each grade with its timing, once it is on disk.

    Raises:
        RecordError: Another process is writing to the folder.
    """
    answers = {item.answer: item for item in submissions}
    with locked(folder):
        for item in grades:
            if item.timing is None:
                candidate = prepare(answers[item.answer], tasks[item.task])
                item = item.model_copy(update={"timing": measure(candidate, item.seeds[0], pool)})
                append_grade(folder, item)
            yield item
