"""A pool of warm workers on this machine, by default with one running worker for each core.

A warm worker is a sandboxed process that has imported its packages and runs one job after another. It runs only jobs of
one kind: jobs with the same owner (the author of their code), packages, tree (a folder with files of a repository; see
`lmrbench.sandbox.trees`) and environment. It sees only the packages that its jobs import, so that outcomes do not
depend on other jobs that run at the same time. If jobs of a kind are waiting, another worker is started for them,
unless starting it would take more than half as long as running the waiting jobs. Each thread of the pool can keep
workers of several kinds, so that it need not start one whenever its next job is of another kind.

Outcomes are returned in the order in which jobs end. If a worker is lost (it ended, hung or sent an invalid answer),
its job runs once more in a fresh worker. If that worker is lost as well, the candidate (the code that is graded) is at
fault. If the candidate died in its first case, the pool also runs the probe, a trivial check
(`lmrbench.sandbox.probe`); if the probe fails, the machine is at fault instead. A case that timed out, or whose process
was killed from outside lmrbench, runs a second time, and the second outcome counts. During these second runs, no other
job is started while all cores are busy.
"""

from __future__ import annotations

import os
import queue
import threading
import time
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from types import TracebackType

from lmrbench.errors import LmrbenchError, SandboxError
from lmrbench.sandbox.packages import with_worker_needs
from lmrbench.sandbox.probe import probe
from lmrbench.sandbox.protocol import CaseOutcome, Job, Outcome, Sandbox, Worker
from lmrbench.sandbox.second_runs import repeated, settled, unsettled
from lmrbench.sandbox.trees import tree_of

_Results = queue.SimpleQueue[tuple[int, Outcome | Exception]]
_Pending = tuple[int, Job, _Results]
# The owner that a worker serves, and the packages, the tree and the environment that it was started with.
_Kind = tuple[str, tuple[str, ...], Path | None, Path | None]
# The interval at which an idle thread checks again whether to start another worker for the waiting jobs.
_LOOK_AGAIN_SECONDS = 0.05
_CLOSED = "the workers were closed before the job had ended"
# Another worker is started only if the waiting jobs would take longer than its start-up time multiplied by this factor.
# The other workers continue to run jobs meanwhile, so a start that takes as long as the remaining jobs saves no time.
_STARTS = 2.0


@dataclass
class _Pace:
    """Measured times for one kind of job.

    Attributes:
        start: The shortest start-up time of any worker of this kind so far, in seconds.
        jobs: The number of jobs that have ended.
        seconds: The total duration of these jobs, in seconds.
        last: The time (`time.monotonic`) at which the most recent job ended. Until a job has ended, the time at which
            the first worker was started.
    """

    start: float
    jobs: int = 0
    seconds: float = 0.0
    last: float = field(default_factory=time.monotonic)


class LocalPool:
    """Warm workers of one back end on this machine.

    The pool is a context manager. Leaving it ends all workers, even if jobs are still running.
    """

    def __init__(
        self, sandbox: Sandbox, size: int | None = None, isolate: bool = False, shared: bool = False, kept: int = 1
    ) -> None:
        """Start the pool's threads; workers are started as jobs need them.

        Args:
            sandbox: The back end that starts workers.
            size: The number of threads, each with one running worker; by default the number of cores.
            isolate: Whether to keep jobs of different owners from running at the same time.
            shared: Whether jobs of different owners may share a worker. Safe only for code that comes with the suite.
            kept: The largest number of workers that each thread keeps, including the running one. Each of them is for
                a different kind of job.
        """
        self.isolate = isolate
        self.shared = shared
        self.kept = kept
        self.sandbox = sandbox
        self._changed = threading.Condition()
        self._pending: dict[_Kind, deque[_Pending]] = defaultdict(deque)
        self._served: Counter[_Kind | None] = Counter()
        self._paces: dict[_Kind, _Pace] = {}
        self._idle: set[threading.Thread] = set()
        self._cores = len(os.sched_getaffinity(0))
        # The number of running jobs, and the number of jobs inside `_alone`, whether running or waiting.
        self._busy = self._alone_jobs = 0
        # The workers of each thread, by kind. The most recently used worker is last.
        self._workers: dict[threading.Thread, dict[_Kind, Worker]] = {}
        self._closing = False
        # A bwrap process is killed when the thread that started it ends, so each thread must live as long as the pool.
        self._threads = [threading.Thread(target=self._work, daemon=True) for _ in range(size or self._cores)]
        for thread in self._threads:
            thread.start()

    def __enter__(self) -> LocalPool:
        """Return the pool."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End all workers, and wait for the threads."""
        with self._changed:
            self._closing = True
            for number, _, results in chain.from_iterable(self._pending.values()):
                results.put((number, SandboxError(_CLOSED)))
            self._pending.clear()
            for workers in self._workers.values():
                for worker in workers.values():
                    worker.kill()
            self._changed.notify_all()
        for thread in self._threads:
            thread.join()
        self.sandbox.close()

    def run(self, jobs: Iterable[Job]) -> Iterator[tuple[int, Outcome]]:
        """Run all jobs. May be called by several threads at once.

        Yields:
            The index of each job in `jobs` and its outcome, in the order in which the jobs end.

        Raises:
            SandboxError: No worker can be started, or the pool is closed before all jobs have ended.
        """
        # Each call has its own queue, so that outcomes of an abandoned call do not appear in a later call.
        results: _Results = queue.SimpleQueue()
        count = 0
        with self._changed:
            if self._closing:
                raise SandboxError(_CLOSED)
            for count, job in enumerate(jobs, start=1):
                try:
                    self._pending[self._kind(job)].append((count - 1, job, results))
                except Exception as error:
                    results.put((count - 1, _failed(job, error)))
            self._changed.notify_all()
        try:
            for _ in range(count):
                number, result = results.get()
                if isinstance(result, Exception):
                    raise result
                yield number, result
        finally:
            with self._changed:
                for kind, waiting in self._pending.items():
                    self._pending[kind] = deque(item for item in waiting if item[2] is not results)

    def _work(self) -> None:
        thread, kind = threading.current_thread(), None
        with self._changed:
            mine = self._workers[thread] = {}
        while (taken := self._take(kind, mine)) is not None:
            number, job, results = taken
            try:
                kind = self._kind(job)
                outcome = self._run(mine, kind, job)
                if job.confirmed and (again := unsettled(outcome)):
                    with self._alone():
                        later = self._run(mine, kind, repeated(job, again))
                    outcome = settled(outcome, again, later)
                if outcome.lost and self._closing:
                    raise SandboxError(_CLOSED)
                results.put((number, outcome))
            except Exception as error:
                results.put((number, SandboxError(_CLOSED) if self._closing else _failed(job, error)))
            finally:
                with self._changed:
                    self._busy -= 1
                    if self._alone_jobs:
                        # Wake the threads that wait for a core.
                        self._changed.notify_all()
        for held in list(mine):
            self._close_worker(mine, held)

    def _take(self, kind: _Kind | None, mine: Mapping[_Kind, Worker]) -> _Pending | None:
        """Wait for the next job of this thread, and return it.

        Jobs of the same kind as the thread's last job come first, then jobs of a kind for which the thread keeps a
        worker, then jobs of the kind that the fewest threads serve.

        Args:
            kind: The kind of this thread's last job.
            mine: The workers that this thread keeps.

        Returns:
            The job, or None if the pool is closed.
        """
        with self._changed:
            self._served[kind] -= 1
            if self.isolate:
                # Wake the threads that wait until the last job of this owner has ended.
                self._changed.notify_all()
            while not self._closing:
                waiting = [item for item, jobs in self._pending.items() if jobs]
                if self._alone_jobs and self._busy >= self._cores:
                    waiting = []
                if self.isolate and (
                    running := {item[0] for item, count in self._served.items() if item and count > 0}
                ):
                    waiting = [item for item in waiting if item[0] in running]
                if worthy := [item for item in waiting if item in mine or self._is_worth_a_start(item)]:
                    chosen = min(worthy, key=lambda item: (item != kind, item not in mine, self._served[item]))
                    self._served[chosen] += 1
                    self._busy += 1
                    return self._pending[chosen].popleft()
                self._idle.add(threading.current_thread())
                self._changed.wait(_LOOK_AGAIN_SECONDS if waiting else None)
                self._idle.remove(threading.current_thread())
            return None

    def _is_worth_a_start(self, kind: _Kind) -> bool:
        """Return whether another worker should be started for the waiting jobs of a kind; see `_STARTS`."""
        if any(kind in self._workers[thread] for thread in self._idle):
            return False
        pace = self._paces.get(kind)
        if not self._served[kind] or pace is None:
            return True
        # A long job may be running, so the time since the last job ended is used if it is longer than the average.
        each = max(pace.seconds / max(1, pace.jobs), time.monotonic() - pace.last)
        return len(self._pending[kind]) * each / self._served[kind] > _STARTS * pace.start

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Wait until a core is free. Until the `with` block ends, the pool starts no job while all cores are busy.

        This is used for second runs, so that other jobs do not slow them down.
        """
        with self._changed:
            self._busy -= 1
            self._alone_jobs += 1
            self._changed.wait_for(lambda: self._busy < self._cores or self._closing)
            self._busy += 1
        try:
            yield
        finally:
            with self._changed:
                self._alone_jobs -= 1
                self._changed.notify_all()

    def _run(self, mine: dict[_Kind, Worker], kind: _Kind, job: Job) -> Outcome:
        """Run a job. If its worker is lost, or the outcome has a `fault`, run the job again in a new worker.

        `Outcome.fault` is an error that ended the job before any code of the candidate ran. If the rerun also has one,
        or if the candidate died in its first case, the probe checks that the machine is not the cause.
        """
        outcome = self._worker(mine, kind, job).run(job)
        if outcome.lost or outcome.fault:
            self._close_worker(mine, kind)
            outcome = self._worker(mine, kind, job).run(job)
        if outcome.fault or _died_first(outcome):
            self._clear_the_machine(mine, kind, job, outcome.peak_mb)
        with self._changed:
            pace = self._paces[kind]
            pace.jobs, pace.seconds, pace.last = pace.jobs + 1, pace.seconds + outcome.seconds, time.monotonic()
        return replace(outcome, broken=outcome.fault) if outcome.fault else outcome

    def _clear_the_machine(self, mine: dict[_Kind, Worker], kind: _Kind, job: Job, memory_mb: float) -> None:
        """Check with the probe that the machine did not cause the early end of a job.

        If the probe fails, it runs again in a fresh worker, because the candidate may have broken its own worker.

        Raises:
            SandboxError: The probe fails in both workers.
        """
        try:
            probe(self._worker(mine, kind, job), job, memory_mb)
        except SandboxError:
            self._close_worker(mine, kind)
            probe(self._worker(mine, kind, job), job, memory_mb)

    def _worker(self, mine: dict[_Kind, Worker], kind: _Kind, job: Job) -> Worker:
        """Return the thread's worker for this kind. If there is none, start one and run the probe in it.

        The worker becomes the most recently used one of the thread.
        """
        with self._changed:
            worker = mine.pop(kind, None)
            if worker is not None:
                mine[kind] = worker
        if worker is not None and worker.alive:
            return worker
        while len(mine) >= self.kept and (oldest := next((item for item in mine if item != kind), None)):
            self._close_worker(mine, oldest)
        if self._closing:
            raise SandboxError(_CLOSED)
        began = time.monotonic()
        try:
            worker = self.sandbox.start(*kind[1:])
        except LmrbenchError:
            raise
        except Exception as error:
            raise SandboxError(f"the {self.sandbox.name} sandbox can't be started: {error}") from error
        seconds = time.monotonic() - began
        with self._changed:
            mine[kind] = worker
            pace = self._paces.setdefault(kind, _Pace(seconds))
            # The first start of a kind can include the start of a template, the process from which workers are forked.
            pace.start = min(pace.start, seconds)
            if self._closing:
                worker.kill()
        probe(worker, job)
        return worker

    def _close_worker(self, mine: dict[_Kind, Worker], kind: _Kind) -> None:
        with self._changed:
            worker = mine.pop(kind)
        worker.close()

    def _kind(self, job: Job) -> _Kind:
        owner = "" if self.shared else job.owner
        return owner, with_worker_needs(job.imports), tree_of(job.files, job.observe), job.environment


def _failed(job: Job, error: Exception) -> Outcome | Exception:
    """Convert an exception to the error that `run` raises, or to an outcome if the job itself caused the exception."""
    if isinstance(error, LmrbenchError):
        return error
    if isinstance(error, OSError | MemoryError):
        return SandboxError(f"this machine can't run a worker: {error or type(error).__name__}")
    missing = tuple(CaseOutcome("missing") for _ in job.observed)
    return Outcome(missing, broken=f"the harness failed on this job: {type(error).__name__}: {error}")


def _died_first(outcome: Outcome) -> bool:
    """Return whether the candidate died in the first case that ran."""
    return next((case.status for case in outcome.cases if case.status != "missing"), "") == "died"
