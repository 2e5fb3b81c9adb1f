"""Write the published records of the public edition of LMR-BENCH as run folders, one for each system.

A run folder contains the published ratings by the judge, the published results of unit tests, and the system's answers.
The answers are read from the system's output trees. An output tree is a copy of a paper's folder into which the system
wrote its answers. `lmrbench grade` adds the grades. The labels, which are the categories that people gave to answers,
are in one file next to the run folders.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from lmrbench.errors import LmrbenchError, SubmissionError, UsageError
from lmrbench.files import write_whole
from lmrbench.integrations.lmr_bench.edition import INFO, paper_number, read_benchmark
from lmrbench.integrations.lmr_bench.imported import ImportedEdition, ImportedRun, ImportedTask, Remark
from lmrbench.integrations.lmr_bench.importing import import_edition
from lmrbench.integrations.lmr_bench.published import system_title
from lmrbench.integrations.lmr_bench.records import (
    JUDGE,
    PublicAnswer,
    PublicJudgement,
    PublicRecords,
    System,
    read_records,
)
from lmrbench.judging.labels import write_labels
from lmrbench.records import StoredRecord
from lmrbench.runs.folder import JUDGEMENTS, LABELS, PUBLISHED, source_in, write_facts, write_submissions
from lmrbench.runs.places import run_name
from lmrbench.runs.records import Judgement, Label, PublishedVerdict, RunFacts
from lmrbench.tasks.collect import decoded
from lmrbench.tasks.digests import suite_digest
from lmrbench.tasks.foreign import read_foreign
from lmrbench.tasks.loading import load_suite, suite_name
from lmrbench.tasks.model import Target, Task
from lmrbench.tasks.submission import MAX_CODE_BYTES, Answer, Submission
from lmrbench.version import __version__


def require_empty(folder: Path) -> None:
    """Raise UsageError unless a folder for new runs is absent or empty."""
    if folder.is_symlink() or (folder.exists() and (not folder.is_dir() or any(folder.iterdir()))):
        raise UsageError(f"{folder} is not empty; choose a new or empty folder for the runs")


def import_with_runs(
    source: Path, to: Path, runs: Path | None, advance: Callable[[int, int], None] = lambda done, total: None
) -> ImportedEdition:
    """Import the public edition as a suite, and its published records as run folders.

    Args:
        source: A clone of the edition's repository.
        to: The folder of the suite; new or empty.
        runs: The folder of the runs, new or empty; None to import no records.
        advance: See `import_edition`.

    Returns:
        The imported tasks and runs, and a list of everything that was left out.

    Raises:
        UsageError: The source has no folders of papers or no records in a known form, or an output folder is not empty.
    """
    if runs is None:
        return import_edition(source, to, advance)
    require_empty(runs)
    records = read_records(source)
    found = import_edition(source, to, advance)
    return with_runs(found, records, to, runs) if found.tasks else found


def with_runs(edition: ImportedEdition, records: PublicRecords, suite: Path, to: Path) -> ImportedEdition:
    """Write a run folder for each system, and a file `labels.jsonl` with the labels that people gave.

    Records of functions that are not in the suite are kept under the task id `paper_PAPER/function_FUNCTION`, so that
    rates cover all functions of the edition.

    Args:
        edition: The result of importing the tasks of the same clone.
        records: The records of the clone.
        suite: The folder of the imported suite.
        to: The folder of the runs; new or empty.

    Returns:
        `edition` with the runs added. Its list `left_out` also contains the records and answers that could not be read,
        and the functions that have records but no task.

    Raises:
        UsageError: The folder is not empty.
    """
    require_empty(to)
    tasks = load_suite(suite)
    imported = {
        (number, item.function): item
        for item in reversed(edition.tasks)
        if (number := paper_number(item.benchmark)) is not None
    }
    left_out = [*edition.left_out, *records.problems]
    labels = [
        Label(
            **_answer(imported, item)._asdict(),
            annotator=label.annotator,
            category=label.category,
            reason=label.comment,
        )
        for item in records.answers
        for label in records.labels.get(item, ())
    ]
    if labels:
        write_labels(to / LABELS, labels)
    runs = [_write_run(records, system, imported, tasks, to, left_out) for system in records.systems]
    left_out += [
        Remark(where=_task(imported, *key), reason="published records exist, but the suite has no such task")
        for key in sorted({(item.paper, item.function) for item in records.answers} - imported.keys())
    ]
    return edition.model_copy(update={"runs": tuple(runs), "left_out": tuple(left_out)})


def _write_run(
    records: PublicRecords,
    system: System,
    imported: Mapping[tuple[int, int], ImportedTask],
    tasks: Sequence[Task],
    to: Path,
    left_out: list[Remark],
) -> ImportedRun:
    folder = to / run_name(f"{system.model}-{system.setting}")
    own = [item for item in records.answers if item.system == system]
    submissions = _submissions(records, system, imported, left_out)
    judgements = [_judgement(_answer(imported, item), found) for item in own if (found := records.judgements.get(item))]
    verdicts = [
        PublishedVerdict(**_answer(imported, item)._asdict(), passed=records.unit_tests[item])
        for item in own
        if item in records.unit_tests
    ]
    write_submissions(folder, submissions)
    _write_lines(folder / JUDGEMENTS, judgements)
    _write_lines(folder / PUBLISHED, verdicts)
    known = {task.id for task in tasks}
    answered = {item.task for item in submissions} | {_answer(imported, item).task for item in own}
    facts = RunFacts(
        lmrbench=__version__,
        suite=suite_name(tasks),
        suite_digest=suite_digest(tasks),
        tasks=tuple(sorted(answered & known)),
        seeds=(),
        sandbox="",
        environment={},
        source=source_in(folder, records.clone),
    )
    write_facts(folder, facts)
    return ImportedRun(
        folder=folder,
        system=system_title(*system),
        answers=len(submissions),
        unit_tests=len(verdicts),
        judgements=len(judgements),
        labels=sum(len(records.labels.get(item, ())) for item in own),
    )


def _answer(imported: Mapping[tuple[int, int], ImportedTask], item: PublicAnswer) -> Answer:
    return Answer(system_title(*item.system), _task(imported, item.paper, item.function), 0)


def _task(imported: Mapping[tuple[int, int], ImportedTask], paper: int, function: int) -> str:
    item = imported.get((paper, function))
    return item.task if item else f"paper_{paper}/function_{function}"


def _submissions(
    records: PublicRecords,
    system: System,
    imported: Mapping[tuple[int, int], ImportedTask],
    left_out: list[Remark],
) -> list[Submission]:
    """Read a system's answers, which are the goal files in its output trees."""
    found = []
    for (number, _), item in sorted(imported.items()):
        tree = records.outputs.get(system, {}).get(number)
        if tree is None:
            continue
        goal = Target.parse(item.target).file
        try:
            code = _goal_file(records.clone / tree, goal)
        except LmrbenchError as error:
            left_out.append(Remark(where=f"{tree}: {item.task}", reason=str(error)))
        else:
            found.append(Submission(system=system_title(*system), task=item.task, code={goal: code}))
    return found


def _goal_file(tree: Path, goal: str) -> str:
    """Return the text of a goal file in an output tree.

    The path of a goal file is relative to the folder of the research code or, in some trees, to the tree.
    """
    for place in (f"{read_benchmark(tree).repository}/{goal}", goal):
        data = read_foreign(tree, place, MAX_CODE_BYTES)
        if data is not None:
            return decoded(data, place)
    raise SubmissionError(f"{goal}: no such file in the folder that {INFO} names")


def _judgement(answer: Answer, found: PublicJudgement) -> Judgement:
    """Convert a published judgement to a vote. The edition's prompt for the judge shows the reference first."""
    return Judgement(
        **answer._asdict(),
        judge=JUDGE,
        vote=0,
        order="reference first",
        prompt_version=0,
        evidence=False,
        comments_stripped=False,
        digest="",
        status="judged",
        category=found.category,
        error_class=None,
        logic=(),
        implementation=(),
        rationale=found.rationale,
        detail="",
        attempts=1,
        input_tokens=0,
        output_tokens=0,
        dollars=None,
    )


def _write_lines(file: Path, items: Sequence[StoredRecord]) -> None:
    if items:
        write_whole(file, "".join(item.model_dump_json() + "\n" for item in items).encode())
