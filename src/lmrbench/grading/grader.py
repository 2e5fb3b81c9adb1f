"""The class `Grader`, which turns submissions into grades.

A submission is transplanted into a masked repository. A sandbox runs the result (the candidate) on the cases of the
task's check, and returns its observations: the values that the check computes. They are then compared with the
observations of the reference for the same cases. Every fault of a candidate becomes a verdict; only faults of a task or
of the machine raise errors.
"""

from __future__ import annotations

import asyncio
import json
import os
import threading
import weakref
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import TracebackType

from pydantic import ValidationError

from lmrbench.errors import UsageError
from lmrbench.grading.candidates import Candidate, prepared, refusal_of
from lmrbench.grading.draw import fresh_seed, installation_seed, reference_job
from lmrbench.grading.observe import ReferenceOutputs, environment_digest, reference_outputs, require_check
from lmrbench.grading.plan import KEPT_IN_TRAINING, GradingPlan
from lmrbench.grading.reading import read_in_one_layout
from lmrbench.grading.records import CaseVerdict, Grade, GradeTerms
from lmrbench.grading.verdicts import JobVerdicts, all_missing, case_seconds, check_seconds, shortened
from lmrbench.sandbox.protocol import Job, Outcome, WorkerPool
from lmrbench.sandbox.registry import open_executor, require_sandbox, sandbox_name
from lmrbench.tasks.digests import files_digest, grading_digest
from lmrbench.tasks.loading import load_suite, suite_folder, suite_folders
from lmrbench.tasks.model import Task
from lmrbench.tasks.submission import Submission
from lmrbench.tasks.tiers.forensic import share_found
from lmrbench.text import did_you_mean

# The system name in grades of candidates that a policy (the model being trained) writes.
POLICY = "policy"
# Submissions are prepared and run in batches of this size, to bound the memory that their repositories take. With
# smaller batches, workers would more often be idle while the last jobs of a batch finish.
_WINDOW = 1000

_References = Mapping[tuple[str, int], ReferenceOutputs]


class Grader:
    """Grades submissions with its own warm workers, which import packages once and are reused for many jobs.

    A grader is a context manager; on exit, it ends all workers. It is thread-safe. In a forked process, it opens new
    workers at the first call and does not touch those of the parent.

    Args:
        suite: `core` (the default), `real`, `live`, `all`, the folder of a suite, or a mapping from ids to tasks.
        plan: The conditions of grading, such as seeds and sandbox. The default plan suits rewards during training.
        pool: A pool that the caller opens and closes; by default the grader opens its own at the first call.

    Raises:
        TaskError: The suite is malformed.
        SandboxError: The plan names a sandbox that does not exist.
    """

    def __init__(
        self,
        suite: str | Path | Mapping[str, Task] | None = None,
        plan: GradingPlan | None = None,
        pool: WorkerPool | None = None,
    ) -> None:
        if isinstance(suite, Mapping):
            self.tasks, self._hidden = suite, tuple(sorted({task.folder.parent for task in suite.values()}))
        else:
            folder = suite_folder(suite)
            self.tasks, self._hidden = {task.id: task for task in load_suite(folder)}, suite_folders(folder)
        self.plan = plan or GradingPlan(kept=KEPT_IN_TRAINING)
        if pool is None:
            require_sandbox(self.plan.sandbox)
        self._given = pool
        self._closed = False
        self._lock = threading.Lock()
        self._opened: tuple[WorkerPool, ExitStack] | None = None
        self._digests = cache(lambda name: (grading_digest(self.tasks[name]), environment_digest(self.tasks[name])))
        _graders.add(self)

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seeds of the cases that `grade_all` runs."""
        return self.plan.seeds or (installation_seed(),)

    @property
    def sandbox(self) -> str:
        """The name of the back end that makes the sandboxes."""
        return self._given.sandbox.name if self._given else sandbox_name(self.plan.sandbox)

    def grade(self, task: str, candidate: str | Mapping[str, str]) -> Grade:
        """Grade one candidate on freshly drawn cases; the grade can be used as a reward in training.

        A policy that is graded on the same cases repeatedly may learn them. So each call draws a new seed and observes
        the reference with it, without caching the observations.

        Every candidate gets a grade. Its `share` of ordinary cases that match can be used as a dense reward, `correct`
        or `robust` as a binary one. A case that took too long has the verdict `timeout`. Reasons and logs can quote
        values that the reference returned, so show a policy only `grade.blinded()`.

        Args:
            task: The task's id.
            candidate: A model's full response, only the code of the functions, or a mapping from goal files (the files
                that contain the functions) to their texts.

        Raises:
            UsageError: The suite has no such task, the candidate is neither a text nor a mapping from goal files to
                texts, or the grader is closed.
            TaskError: The reference fails its own check.
            SandboxError: This machine can't run the sandbox, or the grader was closed during the call.
        """
        if task not in self.tasks:
            guess = did_you_mean(task, self.tasks) or "; see `Grader.tasks`"
            raise UsageError(f"there is no task {task!r} in this suite{guess}")
        ((_, found),) = self._graded([_of_policy(task, candidate)], (fresh_seed(),), keep=False)
        return found

    async def grade_async(self, task: str, candidate: str | Mapping[str, str]) -> Grade:
        """Grade one candidate as `grade` does, without blocking the event loop."""
        return await asyncio.to_thread(self.grade, task, candidate)

    def grade_all(
        self,
        submissions: Sequence[Submission],
        known: Iterable[Grade] = (),
        observed: Callable[[Task, int], None] = lambda task, seed: None,
    ) -> Iterator[tuple[int, Grade]]:
        """Grade submissions with the plan's seeds. Submissions with the same content are graded once.

        Args:
            submissions: Submissions to tasks of the suite.
            known: Grades of an earlier run. A grade is reused if the candidate, task, seeds, sandbox and environment
                are the same.
            observed: Called with a task and a seed each time the outputs of the task's reference are ready.

        Yields:
            The index of each submission and its grade, in the order in which grades are made.

        Raises:
            UsageError: The grader is closed.
            TaskError: A reference fails its own check, or a task has no check.
            SandboxError: This machine can't run the sandbox, or the grader was closed during the call.
        """
        return self._graded(submissions, self.seeds, self.plan.keep_references, known, observed)

    def close(self) -> None:
        """End all workers; safe to call twice. Calls in progress raise SandboxError."""
        with self._lock:
            self._closed = True
            opened, self._opened = self._opened, None
        if opened is not None:
            opened[1].close()

    def __enter__(self) -> Grader:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _pool(self) -> WorkerPool:
        if self._given is not None:
            return self._given
        with self._lock:
            if self._closed:
                raise UsageError("the grader is closed")
            if self._opened is None:
                plan, closing = self.plan, ExitStack()
                pool = open_executor(
                    plan.executor, plan.sandbox, self._hidden, plan.workers, plan.isolate, plan.shared, plan.kept
                )
                closing.enter_context(pool)
                self._opened = pool, closing
            return self._opened[0]

    def _leave_to_the_parent(self) -> None:
        """Forget the parent's workers and replace the lock, which another thread may have held during the fork.

        Called in a forked child.
        """
        _inherited.append(self._opened)
        self._lock, self._opened = threading.Lock(), None

    def _graded(
        self,
        submissions: Sequence[Submission],
        seeds: tuple[int, ...],
        keep: bool,
        known: Iterable[Grade] = (),
        observed: Callable[[Task, int], None] = lambda task, seed: None,
    ) -> Iterator[tuple[int, Grade]]:
        for name in dict.fromkeys(item.task for item in submissions):
            require_check(self.tasks[name])
        pool = self._pool()
        # Known grades are kept in compressed form, which takes about a fiftieth of the memory.
        held = {item.terms: _packed(item) for item in known}
        left = Counter(map(_content, submissions))
        references: dict[tuple[str, int], ReferenceOutputs] = {}
        first_grades: dict[str, bytes] = {}
        for window in _windows(submissions):
            todo: dict[str, list[tuple[int, Candidate]]] = defaultdict(list)
            for number, candidate in zip(window, prepared([submissions[n] for n in window], self.tasks), strict=True):
                content = _content(candidate.submission)
                left[content] -= 1
                if earlier := held.get(self._terms(candidate, seeds)):
                    yield number, _unpacked(earlier)
                elif first := first_grades.get(content):
                    yield number, self._same(_unpacked(first), candidate, seeds)
                else:
                    todo[content].append((number, candidate))
            firsts = [candidates[0][1] for candidates in todo.values()]
            needed = {item.task.id: item.task for item in firsts if (item.task.id, seeds[0]) not in references}
            references |= reference_outputs(needed.values(), seeds, pool, observed, keep)
            for candidate, cases, outcomes in _observed(firsts, seeds, references, pool, self.plan.fail_fast):
                content = _content(candidate.submission)
                (number, _), *others = todo[content]
                made = _grade(candidate, self._terms(candidate, seeds), cases, outcomes)
                yield number, made
                for number, other in others:
                    yield number, self._same(made, other, seeds)
                if left[content]:
                    first_grades[content] = _packed(made)
            first_grades = {content: first for content, first in first_grades.items() if left[content]}

    def _terms(self, candidate: Candidate, seeds: tuple[int, ...]) -> GradeTerms:
        """Return the terms under which the grade of a candidate is valid."""
        submission = candidate.submission
        task_digest, environment = self._digests(submission.task)
        return GradeTerms(
            system=submission.system,
            task=submission.task,
            sample=submission.sample,
            candidate_digest=candidate.digest,
            task_digest=task_digest,
            seeds=seeds,
            sandbox=self.sandbox,
            environment=environment,
        )

    def _same(self, first: Grade, candidate: Candidate, seeds: tuple[int, ...]) -> Grade:
        """Return the grade of a candidate, given the grade of another submission with the same content."""
        terms, warnings = self._terms(candidate, seeds)._asdict(), tuple(map(shortened, candidate.warnings))
        return first.model_copy(update={**terms, "label": candidate.submission.label, "warnings": warnings})


def _of_policy(task: str, candidate: str | Mapping[str, str]) -> Submission:
    code = dict(candidate) if isinstance(candidate, Mapping) else candidate
    try:
        return Submission(system=POLICY, task=task, code=code)
    except ValidationError as error:
        given = "another mapping" if isinstance(code, dict) else type(candidate).__name__
        raise UsageError(f"{task}: expected a text, or a mapping from goal files to texts, got {given}") from error


def _packed(item: Grade) -> bytes:
    return zlib.compress(item.model_dump_json().encode())


def _unpacked(data: bytes) -> Grade:
    return Grade.model_validate_json(zlib.decompress(data))


def _content(submission: Submission) -> str:
    """Return a digest of everything in a submission that its verdicts depend on.

    Submissions with equal digests are graded once.
    """
    why_empty = () if submission.code else submission.warnings
    return files_digest({submission.task: json.dumps([submission.code, why_empty], sort_keys=True).encode()})


def _windows(submissions: Sequence[Submission]) -> Iterator[Sequence[int]]:
    """Yield the indices of submissions in batches, sorted so that submissions of one system are adjacent."""
    places: dict[str, int] = {}
    for item in submissions:
        places.setdefault(item.system, len(places))
    ordered = sorted(range(len(submissions)), key=lambda number: places[submissions[number].system])
    for start in range(0, len(ordered), _WINDOW):
        yield ordered[start : start + _WINDOW]


def _observed(
    candidates: Sequence[Candidate],
    seeds: Sequence[int],
    references: _References,
    pool: WorkerPool,
    fail_fast: bool,
) -> Iterator[tuple[Candidate, list[CaseVerdict], list[Outcome]]]:
    """Run candidates on the cases of all seeds.

    Yields:
        Each candidate with its verdicts and the outcomes of its jobs, as soon as its last job ends. A candidate that
        can't be run has no outcomes.
    """
    places: list[tuple[int, int]] = []
    jobs: list[Job] = []
    judges: dict[tuple[int, int], JobVerdicts] = {}
    for number, candidate in enumerate(candidates):
        of_seeds = {seed: references[candidate.task.id, seed] for seed in seeds}
        if candidate.files is None:
            missing = [case for seed, item in of_seeds.items() for case in all_missing(item, seed, candidate.refusal)]
            yield candidate, missing, []
            continue
        for seed, reference in of_seeds.items():
            judge = judges[number, seed] = JobVerdicts(candidate.task, seed, reference, fail_fast)
            places.append((number, seed))
            jobs.append(_job(candidate, judge))
    found: dict[int, dict[int, Outcome]] = defaultdict(dict)
    for job, outcome in pool.run(jobs):
        number, seed = places[job]
        found[number][seed] = outcome
        if len(found[number]) == len(seeds):
            outcomes = found.pop(number)
            cases: list[CaseVerdict] = []
            for seed in seeds:
                judge = judges.pop((number, seed))
                try:
                    cases += judge.of(outcomes[seed])
                except Exception as error:
                    cases += all_missing(judge.reference, seed, refusal_of(error))
            yield candidates[number], cases, [outcomes[seed] for seed in seeds]


def _job(candidate: Candidate, judge: JobVerdicts) -> Job:
    assert candidate.files is not None
    return replace(
        reference_job(candidate.task, judge.seed, judge.reference.drawn),
        owner=f"system {candidate.submission.system}",
        files=candidate.files,
        check_seconds=check_seconds(judge.reference),
        case_seconds=case_seconds(judge.reference),
        ends_with=judge.fails if judge.fail_fast else None,
    )


def _grade(candidate: Candidate, terms: GradeTerms, cases: Sequence[CaseVerdict], outcomes: Sequence[Outcome]) -> Grade:
    ordinary = [case for case in cases if not case.edge]
    correct = bool(ordinary) and all(case.matches for case in ordinary)
    found = None
    if candidate.task.draw is not None:
        found = 1.0 if correct else _share_found(candidate)
    return Grade(
        **terms._asdict(),
        label=candidate.submission.label,
        category=candidate.task.category,
        correct=correct,
        robust=correct and all(case.matches for case in cases),
        found=found,
        cases=tuple(cases),
        seconds=sum(outcome.seconds for outcome in outcomes),
        peak_mb=max((outcome.peak_mb for outcome in outcomes), default=0.0),
        warnings=tuple(map(shortened, candidate.warnings)),
        log=shortened(outcomes[0].log) if outcomes else "",
    )


def _share_found(candidate: Candidate) -> float:
    try:
        return share_found(candidate.task, read_in_one_layout(candidate.goal_files))
    except Exception as error:
        refusal_of(error)
        return 0.0


_graders: weakref.WeakSet[Grader] = weakref.WeakSet()
# A forked child keeps references to its parent's workers here. Otherwise garbage collection would close the child's
# copies of their connections, and closing a copy sends the data in its buffers a second time.
_inherited: list[object] = []


def _leave_to_the_parent() -> None:
    for grader in _graders:
        grader._leave_to_the_parent()


os.register_at_fork(after_in_child=_leave_to_the_parent)
