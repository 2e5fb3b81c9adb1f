"""The grade of a sample inside Inspect: what the solver leaves is collected and goes to `lmrbench.grading`.

Nothing of a check gets near the solver or into a log: a score says how many cases matched, and of the first that did
not only its number and its verdict, and how the answer ended. A fault of the machinery raises, so that the sample can
be run again.
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
    answer_text,
    declined,
    ended_by_limit,
    judged,
    provider_fault,
    turns,
    unheard,
)
from lmrbench.records import read_record
from lmrbench.runs.folder import SUBMISSIONS, append_grade, earlier_seeds
from lmrbench.sandbox.protocol import DEFAULT_SANDBOX
from lmrbench.sandbox.registry import open_pool
from lmrbench.solving.snapshots import read_workspace, sample_trace
from lmrbench.tasks.collect import ANSWER, is_untouched
from lmrbench.tasks.loading import load_suite, suite_folders
from lmrbench.tasks.model import Task
from lmrbench.tasks.selection import select_with_draws
from lmrbench.tasks.submission import MAX_CODE_BYTES, Answer, Submission
from lmrbench.tasks.tiers.forensic import is_forensic
from lmrbench.tasks.workspace import REPO, workspace_files
from lmrbench.text import printable

# Where a sample's store holds its submission, for scorers that come when its sandbox is gone.
SUBMISSION = "lmrbench:submission"


@dataclass(frozen=True)
class SampleGrader:
    """Grades the samples of one evaluation, and writes submissions and grades into its run folder if there is one.

    Attributes:
        grader: of the whole suite.
        folder: the run folder, if there is one.
        graded: the grades of the folder that may still hold, by answer, as JSON.
    """

    grader: Grader
    folder: Path | None = None
    graded: Mapping[Answer, bytes] = field(default_factory=dict)
    _writing: threading.Lock = field(default_factory=threading.Lock)

    def grade(self, submission: Submission) -> Grade:
        """Return the grade of one submission, made or taken over, and write both down."""
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
        """Return the grade of what an answer was after some turn, without writing it down."""
        ((_, result),) = self.grader.grade_all([submission], known)
        return result


# That of the run which `solving.runs` has under way. It is no argument of the scorer, as Inspect tells evaluations
# apart by their arguments, and a run folder may be renamed before the run is resumed.
grader_of_run: ContextVar[SampleGrader | None] = ContextVar("grader_of_run", default=None)


@scorer(
    metrics={
        "passed": [accuracy(), stderr(), grouped(accuracy(), "category", all=False)],
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
    """Whether every case of the check matches (`passed`), and what share of them does (`cases`).

    suite: its folder. in_workspace: the answer lies in the sample's sandbox, not in the model's last message. seed: of
    the cases; the run folder's, or this machine's own, if None. run_folder: where submissions and grades are written
    too. system: who answers, as records will name it; the model if None.
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
        task = grader.grader.tasks[str(state.sample_id)]
        named = system or str(state.model)
        events = transcript().events
        limit = ended_by_limit(events, store().get(LIMIT))
        # Inspect's own limits end a sample without its solver, and Inspect then comes here.
        if fault := provider_fault(events) or (unheard(events) if limit in ("time", "working") else ""):
            store().set(UNANSWERED, {"status": ProviderError.status, "detail": fault})
            raise ProviderError(fault)
        submission = Submission(system=named, task=task.id, sample=state.epoch - 1, code="")
        refusal, untouched = "", False
        try:
            if in_workspace:
                # Of an agent that was given no code, a missing file is what it did not write.
                untouched = state.metadata.get("inputs") == "paper"
                submission = await _from_sandbox(task, named, state.epoch - 1)
                untouched = is_untouched(task, submission)
            else:
                code = answer_text(events)
                reasons = tuple(filter(None, [declined(events)])) if not code else ()
                submission = submission.model_copy(update={"code": code, "warnings": reasons})
            await anyio.to_thread.run_sync(read_submission, task, submission)
        except SubmissionError as error:
            refusal = str(error)
        store().set(SUBMISSION, submission.model_dump(mode="json"))
        ending = judged(events, limit, refusal, untouched)
        result = await anyio.to_thread.run_sync(grader.grade, submission)
        traced = {}
        if trace := sample_trace():
            end = len(turns(events))
            graded = await anyio.to_thread.run_sync(_graded_snapshots, grader, task, trace.changes(end), result)
            traced = {"snapshots": [_counted(turn, item) for turn, item in [*graded, (end, result)]]}
        return _score(submission, result, ending, traced)

    return score


async def _from_sandbox(task: Task, system: str, sample: int) -> Submission:
    """What the sample's workspace holds. Raises SubmissionError where the goal file is not there any more."""
    wanted = {*workspace_files(task, "full"), ANSWER}
    try:
        listed = await sandbox().exec(["find", ".", "-type", "f", "-size", f"-{MAX_CODE_BYTES >> 10}k"], timeout=60)
        found = {line.removeprefix("./") for line in listed.stdout.split("\n")}
    except (TimeoutError, OutputLimitExceededError):
        # More files than anyone would be warned of.
        found = set()
    files = await read_workspace(sorted(wanted))
    submission = await anyio.to_thread.run_sync(_collected, task, files, system, sample)
    added = sorted(path for path in found - wanted if path.startswith(f"{REPO}/") and path.endswith(".py"))
    return submission.model_copy(
        update={"warnings": (*submission.warnings, *(f"{printable(path)}: added; left out" for path in added[:20]))}
    )


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
    """The grade of each snapshot with its turn; what was graded already, as the answer or before, is not graded again.

    result: the grade of the answer.
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
    return {"turn": turn, "matched": result.matched, "cases": len(result.cases), "passed": result.passed}


def _score(submission: Submission, result: Grade, ending: Ending, traced: Mapping[str, object]) -> Score:
    first = result.first_failure
    failure = f"; the first that does not is number {first.case}: {first.verdict}" if first else ""
    ended = f"{ending.status}: {ending.detail}" if ending.detail else ending.status
    code: str | Mapping[str, str] = submission.code
    return Score(
        value={"passed": float(result.passed), "cases": result.matched / max(1, len(result.cases))},
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
    """All tasks of a suite's folder by id, and each forensic task that is asked for."""

    def __init__(self, suite: Path) -> None:
        super().__init__((task.id, task) for task in load_suite(suite))
        self.suite = suite

    def __missing__(self, name: str) -> Task:
        if not is_forensic(name):
            raise KeyError(name)
        _, ((task, count, seed),) = select_with_draws(tuple(self.values()), [name])
        with open_pool(DEFAULT_SANDBOX, suite_folders(self.suite), 1) as pool:
            self[name] = forged(task, count, seed, pool)
        return self[name]


@cache
def suite_tasks(suite: str) -> SuiteTasks:
    """The tasks of a suite's folder, read once."""
    return SuiteTasks(Path(suite))
