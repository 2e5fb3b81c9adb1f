"""Select the answers in run folders for people to label or for models to judge."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

from lmrbench.errors import UsageError
from lmrbench.runs.folder import read_run, read_submissions, require_known
from lmrbench.tasks.model import Task
from lmrbench.tasks.submission import Answer, Submission
from lmrbench.tasks.tiers.forensic import is_forensic


def answers_to_label(
    folders: Iterable[Path], known: Collection[str], named: Collection[str]
) -> tuple[dict[Answer, Submission], list[Answer]]:
    """Return all answers in run folders, and the answers to label. Attempts without an answer are left out.

    Args:
        folders: The run folders.
        known: The ids of all tasks of the suite.
        named: The ids of the tasks whose answers are to be labelled.

    Raises:
        UsageError: An answer is in two runs or belongs to an unknown task, or there is nothing to label.
    """
    folders = list(folders)
    answers: dict[Answer, Submission] = {}
    for folder in folders:
        run = read_run(folder)
        unanswered = {Answer(item.system, item.task, item.sample) for item in run.unanswered}
        for item in run.submissions:
            if item.answer in answers:
                raise UsageError(f"{folder}: {item.answer} is in another run, too; name only one of these runs")
            if item.answer not in unanswered:
                answers[item.answer] = item
    if unknown := sorted({answer.task for answer in answers} - set(known)):
        raise UsageError(f"there is no task {unknown[0]!r} in this suite; name the suite of the run with --suite")
    chosen = [answer for answer in answers if answer.task in named]
    if not chosen:
        raise UsageError(f"{', '.join(map(str, folders))}: no answers to label")
    return answers, chosen


def answers_to_judge(
    folder: Path, tasks: Mapping[str, Task], named: Collection[str]
) -> tuple[list[Submission], list[Submission]]:
    """Return the answers of a run that can be compared with a reference, and the selection of them to judge.

    Args:
        folder: The run folder.
        tasks: All tasks of the suite, by id.
        named: The ids of the tasks whose answers are to be judged.

    Raises:
        RecordError: An answer belongs to an unknown task.
        UsageError: There is nothing to judge.
    """
    # Forensic tasks have no target that could be compared with a reference.
    submissions = [item for item in read_submissions(folder) if not is_forensic(item.task)]
    require_known(folder, submissions, tasks)
    chosen = [item for item in submissions if item.task in named]
    if not chosen:
        raise UsageError(f"{folder}: no submission for {', '.join(sorted(named))}")
    return submissions, chosen
