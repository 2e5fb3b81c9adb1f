"""A run is a folder: conditions, submissions, grades. A run that was killed goes on where it stopped.

`run.json` holds the conditions, `submissions.jsonl` what is graded, `grades.jsonl` a line a grade as it is done.
Grading the same submissions into the same folder again takes over every grade that still holds and makes the others
anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from pydantic import ValidationError

from lmrbench import __version__
from lmrbench.errors import RecordError
from lmrbench.grading.grade import grade
from lmrbench.grading.records import (
    Grade,
    RunFacts,
    Solving,
    append_line,
    locked,
    read_lines,
    read_submitted_lines,
    write_whole,
)
from lmrbench.sandbox.environment import fingerprint
from lmrbench.sandbox.pool import WorkerPool
from lmrbench.tasks.digests import suite_digest
from lmrbench.tasks.model import Task
from lmrbench.tasks.submission import Submission
from lmrbench.tasks.workspace import third_party_imports

SUBMISSIONS, GRADES, FACTS, USAGE = "submissions.jsonl", "grades.jsonl", "run.json", "usage.jsonl"


def read_submissions(path: Path, tasks: Mapping[str, Task]) -> list[Submission]:
    """The submissions of a file or of a run folder.

    Raises RecordError, naming the line, for one that is damaged, of an unknown task, or handed in twice.
    """
    file = path / SUBMISSIONS if path.is_dir() else path
    submissions = read_submitted_lines(file, Submission)
    seen: set[tuple[str, str, int]] = set()
    for number, item in enumerate(submissions, 1):
        if item.task not in tasks:
            raise RecordError(f"{file}: submission {number}: there is no task {item.task!r} in this suite")
        key = (item.system, item.task, item.sample)
        if key in seen:
            raise RecordError(
                f"{file}: submission {number}: {item.system} has handed in sample {item.sample} of {item.task} twice"
            )
        seen.add(key)
    return submissions


def read_grades(folder: Path) -> list[Grade]:
    """The grades of a run folder; where a submission was graded again, the last one."""
    grades = {(item.system, item.task, item.sample): item for item in read_lines(folder / GRADES, Grade)}
    return list(grades.values())


def earlier_seeds(folder: Path) -> tuple[int, ...]:
    """The seeds that a run folder was graded under; () for a new one."""
    facts = read_facts(folder)
    return facts.seeds if facts else ()


def read_facts(folder: Path) -> RunFacts | None:
    """The conditions of a run folder; None for a new one."""
    try:
        return RunFacts.model_validate_json((folder / FACTS).read_bytes())
    except FileNotFoundError:
        return None
    except ValidationError as error:
        raise RecordError(f"{folder / FACTS}: {error.errors(include_url=False)[0]['msg']}") from error


def run_facts(
    suite: Iterable[Task], tasks: Iterable[Task], seeds: Sequence[int], sandbox: str, solving: Solving | None
) -> RunFacts:
    """The conditions of a run over some tasks of a suite, under this version, on this machine."""
    chosen = tuple(tasks)
    return RunFacts(
        lmrbench=__version__,
        suite_digest=suite_digest(suite),
        tasks=tuple(task.id for task in chosen),
        seeds=tuple(seeds),
        sandbox=sandbox,
        environment=fingerprint({name for task in chosen for name in third_party_imports(task)}),
        solving=solving,
    )


def write_facts(folder: Path, facts: RunFacts) -> None:
    """Write down the conditions of a run."""
    write_whole(folder / FACTS, facts.model_dump_json(indent=2).encode() + b"\n")


def write_submissions(folder: Path, submissions: Sequence[Submission]) -> None:
    """Replace the submissions of a run folder."""
    write_whole(folder / SUBMISSIONS, "".join(item.model_dump_json() + "\n" for item in submissions).encode())


def grade_run(
    folder: Path,
    submissions: Sequence[Submission],
    tasks: Mapping[str, Task],
    seeds: Sequence[int],
    pool: WorkerPool,
    observed: Callable[[Task, int], None] = lambda task, seed: None,
) -> Iterator[Grade]:
    """Grade submissions into a run folder; yields each grade once it is on the disk.

    tasks: the whole suite, by id. Raises RecordError if another process is writing to the folder.
    """
    with locked(folder):
        before = read_facts(folder)
        solving = before.solving if before else None
        named = {item.task for item in submissions}
        graded = [task for task in tasks.values() if task.id in named]
        write_facts(folder, run_facts(tasks.values(), graded, seeds, pool.sandbox.name, solving))
        write_submissions(folder, submissions)
        earlier = read_lines(folder / GRADES, Grade)
        held = {item.terms for item in earlier}
        for item in grade(submissions, tasks, seeds, pool, earlier, observed):
            if item.terms not in held:
                append_line(folder / GRADES, item)
            yield item
