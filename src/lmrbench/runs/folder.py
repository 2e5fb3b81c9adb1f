"""A run is a folder: conditions, submissions, grades. A run that was killed is resumed.

`run.json` holds the conditions, `submissions.jsonl` what is graded, `grades.jsonl` one line per grade, as it is made.
Grading the same submissions into the same folder again takes over every grade that still holds and makes the others
anew, also those with a case that timed out by the wall clock. Conditions and grades are signed, and only those are
taken over that this installation wrote: the others are moved to `grades.unverified.jsonl`. No submission and no grade
is ever lost. A grade that is timed later is appended once more, with its timing; the last one counts.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import JsonValue

from lmrbench.errors import RecordError
from lmrbench.files import append_whole, read_plain, write_whole
from lmrbench.grading.records import Grade
from lmrbench.grading.signatures import signed, unsigned, verified
from lmrbench.jsonl import read_lines, read_submitted_lines, whole_lines
from lmrbench.records import read_record
from lmrbench.runs.records import UNANSWERED, Judgement, RunFacts, Snapshot, Usage
from lmrbench.sandbox.packages import require_installed
from lmrbench.sandbox.variables import fingerprint
from lmrbench.sandbox.venvs import environment_of, lock_digest
from lmrbench.tasks.digests import grading_digest, suite_digest
from lmrbench.tasks.loading import suite_name
from lmrbench.tasks.model import Task
from lmrbench.tasks.submission import Answer, ForeignSubmission, Submission
from lmrbench.tasks.workspace import third_party_imports
from lmrbench.text import counted
from lmrbench.version import __version__

SUBMISSIONS, GRADES, FACTS, USAGE = "submissions.jsonl", "grades.jsonl", "run.json", "usage.jsonl"
SNAPSHOTS, JUDGEMENTS, LABELS = "progress.jsonl", "judgements.jsonl", "labels.jsonl"
UNVERIFIED = "grades.unverified.jsonl"
LOGS = "logs"


def read_submissions(path: Path) -> list[Submission]:
    """The submissions of a file or of a run folder.

    Raises RecordError, naming the line, for one that is damaged or handed in twice, and for a file without any.
    """
    file = path / SUBMISSIONS if path.is_dir() else path
    if path.is_dir():
        submissions = read_lines(file, Submission)
    else:
        submissions = [item.submission() for item in read_submitted_lines(file, ForeignSubmission)]
    if not submissions:
        raise RecordError(f"{file}: holds no submissions")
    seen: set[Answer] = set()
    for number, item in enumerate(submissions, 1):
        if item.answer in seen:
            raise RecordError(
                f"{file}: submission {number}: {item.system} has handed in sample {item.sample} of {item.task} twice; "
                "number the answers (`lmrbench collect --sample`), or take one of them out"
            )
        seen.add(item.answer)
    return submissions


def require_known(path: Path, submissions: Iterable[Submission], tasks: Mapping[str, Task]) -> None:
    """Raise RecordError, naming the first, unless all submissions are of these tasks, by id."""
    for number, item in enumerate(submissions, 1):
        if item.task not in tasks:
            raise RecordError(f"{path}: submission {number}: there is no task {item.task!r} in this suite")


@dataclass(frozen=True)
class Run:
    """What a run folder holds, whoever wrote it.

    facts: None for a folder without run.json. grades: under the conditions of the facts; the last one where a
    submission was graded again, and none of a sample that the machinery left unanswered. usages: a line for each sample
    of a model that was asked. unsigned: how many of the grades this installation did not make. snapshots: of the
    samples of an agent that were traced.
    """

    folder: Path
    facts: RunFacts | None
    submissions: tuple[Submission, ...]
    grades: tuple[Grade, ...]
    usages: tuple[Usage, ...]
    unsigned: int
    snapshots: tuple[Snapshot, ...]

    @property
    def unanswered(self) -> list[Usage]:
        """The samples that the machinery left without an answer."""
        return [item for item in self.usages if item.status in UNANSWERED]


def read_run(folder: Path) -> Run:
    """All that a run folder holds, also of a run that was killed or made elsewhere. Nothing there is changed.

    Raises RecordError where it holds no run, or a damaged one.
    """
    facts = read_facts(folder)
    submissions, usages = read_lines(folder / SUBMISSIONS, Submission), read_lines(folder / USAGE, Usage)
    snapshots = read_lines(folder / SNAPSHOTS, Snapshot)
    unanswered = {item.answer for item in usages if item.status in UNANSWERED}
    grades, made_here = {}, {}
    for number, line in whole_lines(folder / GRADES):
        item = read_record(unsigned(line), Grade, f"{folder / GRADES}:{number}")
        if facts is None or (item.seeds, item.sandbox) == (facts.seeds, facts.sandbox):
            grades[item.answer], made_here[item.answer] = item, verified(line) is not None
    if facts is None and not grades:
        raise RecordError(f"{folder}: holds no run")
    kept = {key: item for key, item in grades.items() if key not in unanswered}
    foreign = sum(not made_here[key] for key in kept)
    return Run(folder, facts, tuple(submissions), tuple(kept.values()), tuple(usages), foreign, tuple(snapshots))


def read_judgements(folder: Path, submissions: Sequence[Submission]) -> list[Judgement]:
    """Return the votes of judges in a run folder.

    Args:
        folder: the run folder.
        submissions: all of the folder.

    Raises:
        RecordError: a line is damaged, or a vote is on a submission that is not there.
    """
    known = {item.answer for item in submissions}
    found = []
    for number, line in whole_lines(folder / JUDGEMENTS):
        item = read_record(line, Judgement, f"{folder / JUDGEMENTS}:{number}")
        if item.answer not in known:
            raise RecordError(
                f"{folder / JUDGEMENTS}:{number}: judges sample {item.sample} of {item.task} by {item.system}, "
                f"which is not in {SUBMISSIONS}"
            )
        found.append(item)
    return found


def changed_tasks(folder: Path, tasks: Iterable[Task]) -> tuple[str, ...]:
    """The tasks whose grades in a run folder are of another version of the task, or of none that there is now."""
    now = {task.id: grading_digest(task) for task in tasks}
    lines = whole_lines(folder / GRADES)
    grades = {item.answer: item for item in (read_record(unsigned(line), Grade, str(folder)) for _, line in lines)}
    return tuple(dict.fromkeys(item.task for item in grades.values() if item.task_digest != now.get(item.task)))


def append_grade(folder: Path, item: Grade) -> None:
    """Append a signed grade to those of a run folder."""
    append_whole(folder / GRADES, signed(item.model_dump_json()) + b"\n")


def earlier_seeds(folder: Path) -> tuple[int, ...]:
    """The seeds that a run folder was graded under; () for a new one."""
    facts = read_facts(folder)
    return facts.seeds if facts else ()


def drawn_seeds(folder: Path) -> tuple[int, ...]:
    """The fresh seeds that a run folder was graded under; () if none were drawn for it here."""
    try:
        data = verified(read_plain(folder / FACTS))
    except FileNotFoundError:
        return ()
    facts = read_facts(folder) if data is not None else None
    return facts.seeds if facts is not None and facts.fresh_seeds else ()


def read_facts(folder: Path) -> RunFacts | None:
    """The conditions of a run folder, whoever wrote them; None for a new one."""
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
    """The conditions of a run over some tasks of a suite, under this version, on this machine."""
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
    """Harness, machine and packages of lmrbench's own installation; of each other environment, its lock file."""
    imports: dict[Path | None, set[str]] = {None: set()}
    for task in tasks:
        require_installed(task)
        imports.setdefault(environment_of(task.paper.requirements), set()).update(third_party_imports(task))
    locks = sorted(lock_digest(folder)[:16] for folder in imports if folder is not None)
    return fingerprint(imports[None]) | ({"environments": " ".join(locks)} if locks else {})


def write_facts(folder: Path, facts: RunFacts) -> None:
    """Write down the conditions of a run, signed."""
    write_whole(folder / FACTS, signed(facts.model_dump_json(indent=2)) + b"\n")


def source_in(folder: Path, file: Path) -> str:
    """How run.json of a folder names the file that its submissions were read from."""
    return os.path.relpath(file.resolve(), folder.resolve())


def beside(folder: Path, file: Path, submissions: Iterable[Submission], merge: bool) -> list[Answer]:
    """The answers in a run folder that a file of submissions, which is to be graded there, does not hold.

    submissions: all of the file. merge: there may be such answers. Raises RecordError where there may not, and where
    the folder holds other code than this file for one of its answers, unless the code came from the same file.
    """
    facts, given = read_facts(folder), {item.answer: item.code for item in submissions}
    held = {item.answer: item.code for item in read_lines(folder / SUBMISSIONS, Submission)}
    source = facts.source if facts else ""
    others = [answer for answer in held if answer not in given]
    if source == source_in(folder, file):
        if others and not merge:
            raise RecordError(
                f"{folder}: holds {counted(len(others), 'answer')} that {file} does not hold any more; "
                "name another folder with --out"
            )
        return others
    changed = [answer for answer, code in held.items() if given.get(answer, code) != code]
    if changed or (others and not merge):
        whose = f"of {os.path.normpath(folder / source)}" if source else "from elsewhere"
        raise RecordError(f"{folder}: holds answers {whose}, not of {file}; name another folder with --out")
    return others


def write_submissions(folder: Path, submissions: Iterable[Submission]) -> None:
    """Write submissions into a run folder: each in the place of an earlier one, or after those that are there."""
    kept = {item.answer: item for item in (*read_lines(folder / SUBMISSIONS, Submission), *submissions)}
    write_whole(folder / SUBMISSIONS, "".join(item.model_dump_json() + "\n" for item in kept.values()).encode())
