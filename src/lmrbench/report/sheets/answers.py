"""Select and describe the answers of a run that `lmrbench why` explains."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lmrbench.errors import UsageError
from lmrbench.grading.records import Grade
from lmrbench.runs.folder import Run
from lmrbench.tasks.submission import Submission
from lmrbench.text import counted


def failures(run: Run, system: str | None, sample: int | None) -> list[Grade]:
    """Return the grades of answers that fail at least one case.

    Args:
        run: The content of the run folder.
        system: Only answers of this system; None for all systems.
        sample: Only answers with this sample number; None for all samples.
    """
    failed = [
        item
        for item in run.grades
        if not item.robust and system in (None, item.system) and sample in (None, item.sample)
    ]
    return sorted(failed, key=lambda item: item.answer)


def failure_facts(grade: Grade) -> dict[str, Any]:
    """Return a grade for JSON, with the numbers of cases and matches, and the first failure, instead of all cases."""
    first = grade.first_failure
    return {
        **grade.model_dump(mode="json", exclude={"cases", "log", "warnings"}),
        "matched": grade.matched,
        "cases": len(grade.cases),
        "first_failure": first.model_dump(mode="json") if first else None,
    }


def answer_facts(grade: Grade) -> dict[str, Any]:
    """Return a grade and all its failed cases, for JSON."""
    failed = [case.model_dump(mode="json") for case in grade.cases if case.verdict != "match"]
    return {"grade": grade.model_dump(mode="json", exclude={"cases"}), "failed_cases": failed}


@dataclass(frozen=True)
class Chosen:
    """The answer to a task that `lmrbench why` explains.

    Attributes:
        grade: The grade of the answer.
        submission: The answer itself; None if the run does not contain it.
        samples: The number of graded samples of the system for this task.
        failing: The number of these samples that fail at least one case.
    """

    grade: Grade
    submission: Submission | None
    samples: int
    failing: int


def choose(run: Run, task: str, system: str | None, sample: int | None) -> Chosen:
    """Choose one answer to a task: the first that fails a case or, if none fails, the first.

    Args:
        run: The content of the run folder.
        task: The id of the task.
        system: The system that gave the answer; required if several systems answered the task.
        sample: The number of the sample; None for any sample.

    Raises:
        UsageError: There is no such answer, or several systems have one and `system` is None.
    """
    grades = [item for item in run.grades if item.task == task and system in (None, item.system)]
    answers = [item for item in grades if sample in (None, item.sample)]
    if len({item.system for item in answers}) != 1:
        of = f" by {system}" if system is not None else ""
        of += f" with sample number {sample}" if sample is not None else ""
        which = f"several systems have answers to {task}" if answers else f"no graded answer to {task}{of}"
        named = ", ".join(sorted({f"{item.system} (sample {item.sample})" for item in grades}))
        hint = f"choose one with --system and --sample: {named}" if named else "check the task, --system and --sample"
        raise UsageError(f"{run.folder}: {which}; {hint}")
    answers.sort(key=lambda item: item.sample)
    failing = [item for item in answers if not item.robust]
    grade = (failing or answers)[0]
    submissions = {item.answer: item for item in run.submissions}
    return Chosen(grade, submissions.get(grade.answer), len(answers), len(failing))


def verdict_line(answer: Chosen) -> str:
    """Return one line with the grade of an answer, and the reason why this sample was chosen."""
    grade, which = answer.grade, ""
    if answer.samples > 1:
        one = f"first failing sample; {answer.failing} of {answer.samples} samples failed"
        which = f" ({one if answer.failing else 'all samples are robust'})"
    failed = len(grade.cases) - grade.matched
    count = f"{failed} of {counted(len(grade.cases), 'case')} failed"
    return f"{grade.task}, sample {grade.sample} of {grade.system}: {grade.word}{which}; {count}"
