"""The run folder: the names of its files, and functions that read and write them.

`run.json` contains the run's conditions, `submissions.jsonl` the submissions, and `grades.jsonl` one line per grade,
which is appended as soon as the grade is made. If an answer has several grades, the last one counts. Conditions and
grades are signed with the installation's key. `lmrbench.runs.grading` grades into a run folder and resumes a run.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import JsonValue

from lmrbench.errors import RecordError, ServiceError
from lmrbench.files import append_whole, read_plain, write_whole
from lmrbench.grading.records import Grade
from lmrbench.grading.signatures import signed, unsigned, verified
from lmrbench.jsonl import read_lines, read_submitted_lines, whole_lines
from lmrbench.records import read_record
from lmrbench.runs.records import UNANSWERED, Judgement, PublishedVerdict, RunFacts, Snapshot, Usage
from lmrbench.sandbox.packages import require_installed
from lmrbench.sandbox.variables import fingerprint
from lmrbench.sandbox.venvs import environment_of, lock_digest
from lmrbench.tasks.digests import grading_digest, suite_digest
from lmrbench.tasks.loading import suite_name
from lmrbench.tasks.model import Task
from lmrbench.tasks.submission import Answer, ForeignSubmission, Submission
from lmrbench.tasks.workspace import third_party_imports
from lmrbench.text import counted, did_you_mean
from lmrbench.version import __version__

SUBMISSIONS, GRADES, FACTS, USAGE = "submissions.jsonl", "grades.jsonl", "run.json", "usage.jsonl"
SNAPSHOTS, JUDGEMENTS, LABELS = "progress.jsonl", "judgements.jsonl", "labels.jsonl"
UNVERIFIED, PUBLISHED = "grades.unverified.jsonl", "published.jsonl"
LOGS = "logs"


def read_submissions(path: Path) -> list[Submission]:
    """Read the submissions in a file or in a run folder.

    Args:
        path: A JSON Lines file of submissions, or a run folder.

    Returns:
        The submissions in the order of the file; at least one.

    Raises:
        RecordError: A line is damaged, an answer is in the file twice, or the file contains no submissions.
    """
    file = path / SUBMISSIONS if path.is_dir() else path
    if path.is_dir():
        submissions = read_lines(file, Submission)
    else:
        submissions = [item.submission() for item in read_submitted_lines(file, ForeignSubmission)]
    if not submissions:
        raise RecordError(f"{file} contains no submissions; use `lmrbench collect` to add some")
    seen: set[Answer] = set()
    for number, item in enumerate(submissions, 1):
        if item.answer in seen:
            raise RecordError(
                f"{file}: submission {number}: sample {item.sample} of {item.task} by {item.system} is in the file "
                "twice; number the answers (`lmrbench collect --sample`) or remove one of them"
            )
        seen.add(item.answer)
    return submissions


def require_known(path: Path, submissions: Iterable[Submission], tasks: Mapping[str, Task]) -> None:
    """Check that every submission belongs to a task of the suite.

    Args:
        path: The file of the submissions, named in the error.
        submissions: The submissions to check.
        tasks: The tasks of the suite by id.

    Raises:
        RecordError: A submission belongs to no task of the suite. The message names the first such submission.
    """
    for number, item in enumerate(submissions, 1):
        if item.task not in tasks:
            guess = (
                did_you_mean(item.task, tasks) or "; `lmrbench list` shows its tasks, and --suite selects another suite"
            )
            raise RecordError(f"{path}: submission {number}: the suite has no task {item.task!r}{guess}")


@dataclass(frozen=True)
class Run:
    """The content of a run folder, whether or not this installation signed it.

    Attributes:
        folder: The run folder.
        facts: The conditions of the run, or None if the folder has no `run.json`.
        submissions: The submissions, in the order of the file.
        grades: The last grade of each answer among those with the seeds and the sandbox in `facts`. Samples that a
            provider or machine fault left without an answer have no grade.
        usages: One record for each sample that a model was asked to answer.
        unsigned: The number of grades that this installation did not sign.
        snapshots: The grades of agents' workspaces during their work, recorded with `--trace-progress`.
        published: Published verdicts on the answers, from unit tests that lmrbench did not run.
    """

    folder: Path
    facts: RunFacts | None
    submissions: tuple[Submission, ...]
    grades: tuple[Grade, ...]
    usages: tuple[Usage, ...]
    unsigned: int
    snapshots: tuple[Snapshot, ...]
    published: tuple[PublishedVerdict, ...] = ()

    @property
    def unanswered(self) -> list[Usage]:
        """The usage records of samples that a provider or machine fault left without an answer."""
        return [item for item in self.usages if item.status in UNANSWERED]


def read_run(folder: Path) -> Run:
    """Read a run folder without changing it, including one that is incomplete or was made on another machine.

    Args:
        folder: The run folder.

    Returns:
        The content of the folder.

    Raises:
        RecordError: The folder contains no run, or a record in it is damaged.
    """
    facts = read_facts(folder)
    submissions, usages = read_lines(folder / SUBMISSIONS, Submission), read_lines(folder / USAGE, Usage)
    snapshots = read_lines(folder / SNAPSHOTS, Snapshot)
    published = read_lines(folder / PUBLISHED, PublishedVerdict)
    unanswered = {item.answer for item in usages if item.status in UNANSWERED}
    grades, made_here = {}, {}
    for number, line in whole_lines(folder / GRADES):
        item = read_record(unsigned(line), Grade, f"{folder / GRADES}:{number}")
        if facts is None or (item.seeds, item.sandbox) == (facts.seeds, facts.sandbox):
            grades[item.answer], made_here[item.answer] = item, verified(line) is not None
    if facts is None and not grades:
        why = "this folder contains no run" if folder.is_dir() else "there is no such run folder"
        raise RecordError(f"{folder}: {why}")
    kept = {key: item for key, item in grades.items() if key not in unanswered}
    foreign = sum(not made_here[key] for key in kept)
    answers = tuple(submissions), tuple(kept.values()), tuple(usages)
    return Run(folder, facts, *answers, foreign, tuple(snapshots), tuple(published))


class UnfinishedError(ServiceError):
    """Some samples have no answer, through no fault of the model. Running the same command again requests them."""


def require_finished(run: Run) -> None:
    """Check that every sample of a run has an answer.

    Raises:
        UnfinishedError: Samples are unanswered; the message counts them by reason.
    """
    if missing := run.unanswered:
        kinds = []
        for status, number in Counter(item.status for item in missing).items():
            details = Counter(item.detail for item in missing if item.status == status).most_common()
            others = f"; other reasons: {len(details) - 1}" if len(details) > 1 else ""
            kinds.append(f"{status.replace('_', ' ')}: {number} ({details[0][0]}{others})")
        raise UnfinishedError(
            f"{run.folder}: {len(missing)} of {len(run.usages)} samples have no answer: {'; '.join(kinds)}. "
            f"They are not counted; logs are in {run.folder / LOGS}. Run the same command again to request them"
        )


def read_judgements(folder: Path, submissions: Sequence[Submission]) -> list[Judgement]:
    """Read the votes of judges in a run folder.

    Args:
        folder: The run folder.
        submissions: All submissions of the folder.

    Returns:
        The votes in the order of the file.

    Raises:
        RecordError: A line is damaged, or a vote that lmrbench requested belongs to a submission that is not in the
            folder.
    """
    known = {item.answer for item in submissions}
    found = []
    for number, line in whole_lines(folder / JUDGEMENTS):
        item = read_record(line, Judgement, f"{folder / JUDGEMENTS}:{number}")
        if item.prompt_version and item.answer not in known:
            raise RecordError(
                f"{folder / JUDGEMENTS}:{number}: sample {item.sample} of {item.task} by {item.system} has a "
                f"judgement but no submission in {SUBMISSIONS}"
            )
        found.append(item)
    return found


def changed_tasks(folder: Path, tasks: Iterable[Task]) -> tuple[str, ...]:
    """Return the ids of tasks that changed or were removed from the suite after they were graded in a run folder.

    Args:
        folder: The run folder.
        tasks: The tasks of the suite as it is now.

    Returns:
        The ids, in the order in which their grades are stored.
    """
    now = {task.id: grading_digest(task) for task in tasks}
    lines = whole_lines(folder / GRADES)
    grades = {item.answer: item for item in (read_record(unsigned(line), Grade, str(folder)) for _, line in lines)}
    return tuple(dict.fromkeys(item.task for item in grades.values() if item.task_digest != now.get(item.task)))


def set_aside_message(folder: Path, count: int) -> str:
    """Return a message about the grades in a run folder that this installation did not sign."""
    grades = "1 grade was" if count == 1 else f"{count} grades were"
    return (
        f"{folder}: {grades} not made by this installation, or changed later; moved to {UNVERIFIED}; "
        "the selected answers are graded again"
    )


def append_grade(folder: Path, item: Grade) -> None:
    """Sign a grade and append it to the grades of a run folder."""
    append_whole(folder / GRADES, signed(item.model_dump_json()) + b"\n")


def earlier_seeds(folder: Path) -> tuple[int, ...]:
    """Return the seeds that a run folder was graded with; () for a new folder."""
    facts = read_facts(folder)
    return facts.seeds if facts else ()


def drawn_seeds(folder: Path) -> tuple[int, ...]:
    """Return the seeds that this installation drew for a run folder; () if it drew none."""
    try:
        data = verified(read_plain(folder / FACTS))
    except FileNotFoundError:
        return ()
    facts = read_facts(folder) if data is not None else None
    return facts.seeds if facts is not None and facts.fresh_seeds else ()


def read_facts(folder: Path) -> RunFacts | None:
    """Read the conditions of a run, whether or not this installation signed them.

    Args:
        folder: The run folder.

    Returns:
        The conditions, or None if the folder has no `run.json`.

    Raises:
        RecordError: `run.json` is damaged.
    """
    try:
        return read_record(unsigned(read_plain(folder / FACTS)), RunFacts, str(folder / FACTS))
    except FileNotFoundError:
        return None


def run_facts(
    suite: Iterable[Task],
    tasks: Iterable[Task],
    seeds: Sequence[int],
    sandbox: str,
    solving: dict[str, JsonValue] | None,
) -> RunFacts:
    """Return the conditions of a run with this version of lmrbench on this machine.

    Args:
        suite: All tasks of the suite.
        tasks: The tasks of the run.
        seeds: The seeds that cases are drawn with.
        sandbox: The name of the sandbox back end.
        solving: The settings with which a model solved the tasks, or None if lmrbench did not ask a model.

    Returns:
        The conditions. `lmrbench.runs.grading` sets the remaining fields.
    """
    every_task, chosen = tuple(suite), tuple(tasks)
    return RunFacts(
        lmrbench=__version__,
        suite=suite_name(every_task),
        suite_digest=suite_digest(every_task),
        tasks=tuple(task.id for task in chosen),
        seeds=tuple(seeds),
        sandbox=sandbox,
        environment=_environment(chosen),
        solving=solving,
    )


def _environment(tasks: Iterable[Task]) -> dict[str, str]:
    """Return facts about the machine and its packages that grades depend on, and digests of papers' environments."""
    imports: dict[Path | None, set[str]] = {None: set()}
    for task in tasks:
        require_installed(task)
        imports.setdefault(environment_of(task.paper.requirements), set()).update(third_party_imports(task))
    locks = sorted(lock_digest(folder)[:16] for folder in imports if folder is not None)
    return fingerprint(imports[None]) | ({"environments": " ".join(locks)} if locks else {})


def write_facts(folder: Path, facts: RunFacts) -> None:
    """Sign the conditions of a run and write them to `run.json`."""
    write_whole(folder / FACTS, signed(facts.model_dump_json(indent=2)) + b"\n")


def source_in(folder: Path, file: Path) -> str:
    """Return the path of a submissions file relative to a run folder, as `RunFacts.source` stores it."""
    return os.path.relpath(file.resolve(), folder.resolve())


def other_answers(folder: Path, file: Path, submissions: Iterable[Submission], merge: bool) -> list[Answer]:
    """Return the answers in a run folder that are not among the submissions to be graded into it.

    Args:
        folder: The run folder.
        file: The file of the new submissions.
        submissions: All submissions in this file.
        merge: Whether the folder may contain answers that are not in the file.

    Returns:
        The answers that are only in the folder.

    Raises:
        RecordError: The folder contains such answers and `merge` is false, or it contains different code for one of the
            submissions, and that code came from another file.
    """
    facts, given = read_facts(folder), {item.answer: item.code for item in submissions}
    held = {item.answer: item.code for item in read_lines(folder / SUBMISSIONS, Submission)}
    source = facts.source if facts else ""
    others = [answer for answer in held if answer not in given]
    if source == source_in(folder, file):
        if others and not merge:
            raise RecordError(
                f"{folder} contains {counted(len(others), 'answer')} that {file} no longer contains; "
                "choose another folder with --out"
            )
        return others
    changed = [answer for answer, code in held.items() if given.get(answer, code) != code]
    if changed or (others and not merge):
        whose = os.path.normpath(folder / source) if source else "another source"
        raise RecordError(f"{folder} contains answers from {whose}, not from {file}; choose another folder with --out")
    return others


def write_submissions(folder: Path, submissions: Iterable[Submission]) -> None:
    """Write submissions into a run folder. A submission replaces an earlier one with the same key, or is appended."""
    kept = {item.answer: item for item in (*read_lines(folder / SUBMISSIONS, Submission), *submissions)}
    write_whole(folder / SUBMISSIONS, "".join(item.model_dump_json() + "\n" for item in kept.values()).encode())
