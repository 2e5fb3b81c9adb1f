"""The Inspect scorer of lmrbench, which collects the solver's answer and grades it with `lmrbench.grading`.

A task's check draws cases, which are inputs, and runs the submitted code on them. A case matches if the reference gives
the same result. No part of the check is visible to the solver or written to a log. A score contains the number of cases
that match, the number and the verdict of the first failed case, and the status with which the solver ended. If the
provider or this machine fails, an error is raised, so that the sample can be run again.
"""

from __future__ import annotations

import atexit
import contextlib
import tempfile
import threading
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from statistics import fmean
from typing import Any

import anyio.to_thread
from inspect_ai.log import transcript
from inspect_ai.scorer import Score, Scorer, Target, accuracy, grouped, mean, scorer, stderr
from inspect_ai.solver import TaskState
from inspect_ai.util import OutputLimitExceededError, sandbox, store

from lmrbench.errors import SubmissionError
from lmrbench.grading.forging import forged
from lmrbench.grading.grader import Grader
from lmrbench.grading.plan import GradingPlan
from lmrbench.grading.reading import collect_workspace, read_submission
from lmrbench.grading.records import Grade
from lmrbench.jsonl import append_line
from lmrbench.models.endings import (
    LIMIT,
    UNANSWERED,
    Ending,
    ProviderError,
    answer_ending,
    answer_text,
    declined,
    ended_by_limit,
    provider_fault,
    silence,
    turns,
)
from lmrbench.records import read_record
from lmrbench.runs.folder import SUBMISSIONS, append_grade, earlier_seeds
from lmrbench.runs.logs import TASKS, tasks_of
from lmrbench.sandbox.protocol import DEFAULT_SANDBOX
from lmrbench.sandbox.registry import open_pool
from lmrbench.solving.board import current_board
from lmrbench.solving.snapshots import read_workspace, sample_trace
from lmrbench.tasks.collect import ANSWER, is_untouched
from lmrbench.tasks.loading import load_suite, suite_folders
from lmrbench.tasks.model import Task
from lmrbench.tasks.selection import select_with_draws
from lmrbench.tasks.submission import MAX_CODE_BYTES, Answer, Submission
from lmrbench.tasks.tiers.forensic import is_forensic
from lmrbench.tasks.tiers.logged import COUNT
from lmrbench.tasks.workspace import REPO, workspace_files
from lmrbench.text import printable

# The key of the submission in a sample's store. Scorers that run after the sandbox was closed read it there.
SUBMISSION = "lmrbench:submission"


@dataclass(frozen=True)
class SampleGrader:
    """Grades the samples of one evaluation, and writes submissions and grades into its run folder.

    Attributes:
        grader: the grader of the whole suite.
        folder: the run folder; None to write nothing.
        graded: for each answer with a grade in the folder, this grade as JSON. It is reused if it is still valid.
    """

    grader: Grader
    folder: Path | None = None
    graded: Mapping[Answer, bytes] = field(default_factory=dict)
    _writing: threading.Lock = field(default_factory=threading.Lock)

    def grade(self, submission: Submission) -> Grade:
        """Grade a submission, or reuse its earlier grade, and write the submission and the grade to the run folder."""
        data = self.graded.get(submission.answer)
        earlier = [] if data is None else [read_record(data, Grade, f"{self.folder}")]
        ((_, result),) = self.grader.grade_all([submission], earlier)
        if self.folder is not None:
            with self._writing:
                append_line(self.folder / SUBMISSIONS, submission)
                if result not in earlier:
                    append_grade(self.folder, result)
        return result

    def grade_snapshot(self, submission: Submission, known: Sequence[Grade]) -> Grade:
        """Grade a snapshot without writing to the run folder.

        Args:
            submission: the answer as it was after a turn.
            known: grades that are reused if they are valid for this submission.
        """
        ((_, result),) = self.grader.grade_all([submission], known)
        return result


# The grader of the run that `solving.run` performs. It is not an argument of the scorer, because Inspect identifies
# evaluations by their arguments, and a run folder may be renamed before the run is resumed.
grader_of_run: ContextVar[SampleGrader | None] = ContextVar("grader_of_run", default=None)


@scorer(
    metrics={
        "correct": [accuracy(), stderr(), grouped(accuracy(), "category", all=False)],
        "robust": [accuracy(), stderr()],
        "cases": [mean(), stderr()],
    }
)
def unit_tests(
    suite: str,
    in_workspace: bool,
    seed: int | None = None,
    run_folder: str | None = None,
    system: str | None = None,
) -> Scorer:
    """Grade answers and score them with three values: `correct`, `robust` and `cases`.

    `correct` is 1 if every ordinary case matches, `robust` is 1 if the edge cases match as well, and `cases` is the
    share of cases that match.

    Args:
        suite: the suite's folder.
        in_workspace: whether the answer is in the sample's sandbox instead of the model's last message.
        seed: the seed of the cases; if None, the seeds of the run folder, or else this machine's own seed.
        run_folder: a run folder to which submissions and grades are written, in addition to Inspect's log.
        system: the system's name in records; the model's name if None.
    """

    @cache
    def own_grader() -> SampleGrader:
        folder = None if run_folder is None else Path(run_folder)
        seeds = earlier_seeds(folder) if folder is not None and seed is None else ()
        grader = Grader(suite_tasks(suite), GradingPlan(seeds or (() if seed is None else (seed,))))
        atexit.register(grader.close)
        return SampleGrader(grader, folder)

    async def score(state: TaskState, target: Target) -> Score:
        grader = grader_of_run.get() or own_grader()
        limit = ended_by_limit(transcript().events, store().get(LIMIT))
        names = tasks_of(state.sample_id, state.metadata)
        _require_answer(limit, names, state.epoch - 1)
        scores = {name: await of_task(grader, grader.grader.tasks[name], state, limit) for name in names}
        if len(scores) == 1:
            return scores[names[0]]
        # A judge that scores the log expects one submission per sample, so a session of several tasks stores none.
        store().delete(SUBMISSION)
        return _joined(scores)

    async def of_task(grader: SampleGrader, task: Task, state: TaskState, limit: str) -> Score:
        submission, refusal, untouched = await _read_answer(task, state, in_workspace, system or str(state.model))
        store().set(SUBMISSION, submission.model_dump(mode="json"))
        ending = answer_ending(transcript().events, limit, refusal, untouched)
        result = await anyio.to_thread.run_sync(grader.grade, submission)
        current_board().answered(task.id, submission.sample, result.correct)
        traced: dict[str, object] = {"runs": await _counted_runs(task)} if in_workspace else {}
        if trace := sample_trace():
            end = len(turns(transcript().events))
            graded = await anyio.to_thread.run_sync(_graded_snapshots, grader, task, trace.changes(end), result)
            traced["snapshots"] = [_counted(turn, item) for turn, item in [*graded, (end, result)]]
        return _score(submission, result, ending, traced)

    return score


def _joined(scores: Mapping[str, Score]) -> Score:
    """Return the score of a session: means over its tasks, with the score of each task in the metadata."""
    values: list[Any] = [score.value for score in scores.values()]
    return Score(
        value={key: fmean(value[key] for value in values) for key in values[0]},
        answer="\n\n".join(score.answer or "" for score in scores.values()),
        explanation="\n".join(f"{name}: {score.explanation}" for name, score in scores.items()),
        metadata={TASKS: {name: score.metadata for name, score in scores.items()}},
    )


def _require_answer(limit: str, tasks: Sequence[str], sample: int) -> None:
    """Raise ProviderError if the provider failed, or never responded before a time limit.

    If one of Inspect's own limits is reached, Inspect skips the rest of the solver and calls the scorer, so
    `Attendance` does not see such faults.
    """
    events = transcript().events
    if fault := provider_fault(events) or (silence(events) if limit in ("time", "working") else ""):
        store().set(UNANSWERED, {"status": ProviderError.status, "detail": fault})
        current_board().unanswered(tasks, sample, ProviderError.status)
        raise ProviderError(fault)


async def _read_answer(task: Task, state: TaskState, in_workspace: bool, system: str) -> tuple[Submission, str, bool]:
    """Return a sample's submission, the error if it can't be used (or ""), and whether the goal files are unchanged."""
    submission = Submission(system=system, task=task.id, sample=state.epoch - 1, code="")
    refusal, untouched = "", False
    try:
        if in_workspace:
            # With inputs `paper`, the workspace has no goal file. If the agent did not create one, it changed nothing.
            untouched = state.metadata.get("inputs") == "paper"
            submission = await _from_sandbox(task, system, submission.sample)
            untouched = is_untouched(task, submission)
        else:
            events = transcript().events
            code = answer_text(events)
            reasons = tuple(filter(None, [declined(events)])) if not code else ()
            submission = submission.model_copy(update={"code": code, "warnings": reasons})
        await anyio.to_thread.run_sync(read_submission, task, submission)
    except SubmissionError as error:
        refusal = str(error)
    return submission, refusal, untouched


async def _from_sandbox(task: Task, system: str, sample: int) -> Submission:
    """Return the submission in the sample's workspace.

    Raises:
        SubmissionError: a goal file is missing.
    """
    wanted = {*workspace_files(task, "full"), ANSWER}
    try:
        listed = await sandbox().exec(["find", ".", "-type", "f", "-size", f"-{MAX_CODE_BYTES >> 10}k"], timeout=60)
        found = {line.removeprefix("./") for line in listed.stdout.split("\n")}
    except (TimeoutError, OutputLimitExceededError):
        # There are too many files to list, so there are no warnings about added files.
        found = set()
    files = await read_workspace(sorted(wanted))
    submission = await anyio.to_thread.run_sync(_collected, task, files, system, sample)
    added = sorted(path for path in found - wanted if path.startswith(f"{REPO}/") and path.endswith(".py"))
    return submission.model_copy(
        update={"warnings": (*submission.warnings, *(f"{printable(path)}: added; left out" for path in added[:20]))}
    )


async def _counted_runs(task: Task) -> int | None:
    """Return the number of times that `replay.py` ran the experiment, or None if the task has no logged results."""
    if not task.files.results:
        return None
    return (await read_workspace([COUNT])).get(COUNT, b"").count(b"\n")


def _collected(task: Task, files: Mapping[str, bytes], system: str, sample: int) -> Submission:
    with tempfile.TemporaryDirectory(prefix="lmrbench-") as name:
        folder = Path(name)
        for path, data in files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(data)
        return collect_workspace(task, folder, system, sample)


def _graded_snapshots(
    grader: SampleGrader, task: Task, changes: Iterable[tuple[int, Mapping[str, bytes]]], result: Grade
) -> list[tuple[int, Grade]]:
    """Return the turn and grade of each snapshot.

    Args:
        grader: the grader of the evaluation.
        task: the task that was solved.
        changes: pairs of a turn and the files after it.
        result: the grade of the final answer. Snapshots equal to it or to each other are graded only once.
    """
    graded: list[tuple[int, Grade]] = []
    for turn, files in changes:
        submission = Submission(system=result.system, task=task.id, sample=result.sample, code="")
        with contextlib.suppress(SubmissionError):
            submission = _collected(task, files, result.system, result.sample)
        known = [result, *(item for _, item in graded)]
        graded.append((turn, grader.grade_snapshot(submission, known)))
    return graded


def _counted(turn: int, result: Grade) -> dict[str, int | bool]:
    return {"turn": turn, "matched": result.matched, "cases": len(result.cases), "correct": result.correct}


def _score(submission: Submission, result: Grade, ending: Ending, traced: Mapping[str, object]) -> Score:
    first = result.first_failure
    failure = f"; the first failed case is number {first.case}: {first.verdict}" if first else ""
    ended = f"{ending.status}: {ending.detail}" if ending.detail else ending.status
    code: str | Mapping[str, str] = submission.code
    return Score(
        value={
            "correct": float(result.correct),
            "robust": float(result.robust),
            "cases": result.matched / max(1, len(result.cases)),
        },
        answer=code if isinstance(code, str) else "\n\n".join(code.values()),
        explanation=f"{ended}; {result.matched} of {len(result.cases)} cases match{failure}",
        metadata={
            "status": ending.status,
            "detail": ending.detail,
            "verdicts": dict(Counter(case.verdict for case in result.cases)),
            "warnings": list(submission.warnings),
            "candidate_digest": result.candidate_digest,
            "task_digest": result.task_digest,
            **traced,
        },
    )


class SuiteTasks(dict[str, Task]):
    """A mapping from ids to the tasks of a suite.

    Forensic tasks, which ask to find a few changes in a program, are created when they are first looked up.
    """

    def __init__(self, suite: Path) -> None:
        """Load the tasks of a suite's folder."""
        super().__init__((task.id, task) for task in load_suite(suite))
        self.suite = suite

    def __missing__(self, name: str) -> Task:
        """Create and store the forensic task with this id."""
        if not is_forensic(name):
            raise KeyError(name)
        _, ((task, draw),) = select_with_draws(tuple(self.values()), [name])
        with open_pool(DEFAULT_SANDBOX, suite_folders(self.suite), 1) as pool:
            self[name] = forged(task, draw, pool)
        return self[name]


@cache
def suite_tasks(suite: str) -> SuiteTasks:
    """Return the tasks of a suite's folder, which is loaded once per process."""
    return SuiteTasks(Path(suite))
