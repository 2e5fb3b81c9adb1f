"""The answers of runs that people label."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path

from lmrbench.errors import UsageError
from lmrbench.runs.folder import read_run
from lmrbench.tasks.submission import Answer, Submission


def answers_to_label(
    folders: Iterable[Path], known: Collection[str], named: Collection[str]
) -> tuple[dict[Answer, Submission], list[Answer]]:
    """Return the answers of runs, and those of them that are to be labelled. Unanswered samples are left out.

    Args:
        folders: The run folders.
        known: The ids of all tasks of the suite.
        named: The ids of the tasks whose answers are to be labelled.

    Raises:
        UsageError: An answer is in two runs or of an unknown task, or there is nothing to label.
    """
    folders = list(folders)
    answers: dict[Answer, Submission] = {}
    for folder in folders:
        run = read_run(folder)
        unanswered = {Answer(item.system, item.task, item.sample) for item in run.unanswered}
        for item in run.submissions:
            if item.answer in answers:
                raise UsageError(f"{folder}: {item.answer} is in another run, too; export one of them")
            if item.answer not in unanswered:
                answers[item.answer] = item
    if unknown := sorted({answer.task for answer in answers} - set(known)):
        raise UsageError(f"there is no task {unknown[0]!r} in this suite; name the suite of the run with --suite")
    chosen = [answer for answer in answers if answer.task in named]
    if not chosen:
        raise UsageError(f"{', '.join(map(str, folders))}: no answers to label")
    return answers, chosen
