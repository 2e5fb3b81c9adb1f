"""Share few cores among many jobs: one warm worker a core, each for one owner at a time, replaced when it is lost.

A worker sees the packages that its jobs import and no others, so that no outcome depends on the jobs beside it. Where
jobs wait for workers of their kind, another is started if its start takes less than half of the time that they need.

Jobs of changing kinds may leave the workers of earlier kinds waiting, so that none is started at each change.

Outcomes come in the order in which jobs end. A worker that is lost costs the others nothing; its job is run once more
in a fresh one, and if that is lost too it was the job's doing, unless a probe shows that it was the machine's.

A case that timed out, or that something outside killed, is run once more before it counts, alone on its core.
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
# Whom a worker serves, and the packages, the tree and the environment that it was started with.
_Kind = tuple[str, tuple[str, ...], Path | None, Path | None]
_LOOK_AGAIN_SECONDS = 0.05
_CLOSED = "the workers were closed before the job had ended"
# While a worker starts the others go on, so a start that takes as long as the rest of the jobs saves nothing.
_STARTS = 2.0


@dataclass
class _Pace:
    """How fast jobs of a kind go: seconds of a worker's start, and of the jobs that have ended; when the last did."""

    start: float
    jobs: int = 0
    seconds: float = 0.0
    last: float = field(default_factory=time.monotonic)


class LocalPool:
    """Warm workers of one sandbox. A context manager: leaving it ends them all, whatever they were doing.

    isolate: jobs of two owners never run at the same time. shared: owners share workers, which is for code that all
    comes with the suite. kept: of how many kinds a thread keeps workers, the one at work among them.
    """

    def __init__(
        self, sandbox: Sandbox, size: int | None = None, isolate: bool = False, shared: bool = False, kept: int = 1
    ) -> None:
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
        # How many jobs run, and how many of them run, or wait to run, alone on their cores.
        self._busy = self._alone_jobs = 0
        # Of each thread, by kind; the one that has worked last comes last.
        self._workers: dict[threading.Thread, dict[_Kind, Worker]] = {}
        self._closing = False
        # bwrap ends with the thread that started it, so each thread lives as long as the pool.
        self._threads = [threading.Thread(target=self._work, daemon=True) for _ in range(size or self._cores)]
        for thread in self._threads:
            thread.start()

    def __enter__(self) -> LocalPool:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
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

    def run(self, jobs: Iterable[Job]) -> Iterator[tuple[int, Outcome]]:
        """Run all jobs; yields the number of each with its outcome. May be called by several threads at once.

        Raises SandboxError if no worker can be started, and if the pool is closed meanwhile.
        """
        # A queue of its own: the outcomes of a run that was given up are not those of the next.
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
                        # Who waits for a core may go on.
                        self._changed.notify_all()
        for held in list(mine):
            self._close_worker(mine, held)

    def _take(self, kind: _Kind | None, mine: Mapping[_Kind, Worker]) -> _Pending | None:
        """The next job: one of the same kind if there is any, otherwise of the kind that the fewest threads serve.

        mine: the workers that this thread keeps.
        """
        with self._changed:
            self._served[kind] -= 1
            if self.isolate:
                # Who waits for this owner's last job to end may go on.
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
        """Whether the jobs that wait need more than twice the time of a worker's start from those who serve them."""
        if any(kind in self._workers[thread] for thread in self._idle):
            return False
        pace = self._paces.get(kind)
        if not self._served[kind] or pace is None:
            return True
        # One long job counts too, by how long it has kept the others waiting.
        each = max(pace.seconds / max(1, pace.jobs), time.monotonic() - pace.last)
        return len(self._pending[kind]) * each / self._served[kind] > _STARTS * pace.start

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """While this holds, no more jobs run than there are cores, the caller's among them."""
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
        """Run a job, in a second worker if the first is lost or at fault, and ask a probe about an early death."""
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
        """Run the probe after an early death; in a fresh worker too, as a candidate may have spoilt its own.

        Raises SandboxError if the probe fails in both.
        """
        try:
            probe(self._worker(mine, kind, job), job, memory_mb)
        except SandboxError:
            self._close_worker(mine, kind)
            probe(self._worker(mine, kind, job), job, memory_mb)

    def _worker(self, mine: dict[_Kind, Worker], kind: _Kind, job: Job) -> Worker:
        """The worker of that kind, which comes to be the one used last; a new one has passed the probe."""
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
        with self._changed:
            mine[kind] = worker
            self._paces.setdefault(kind, _Pace(time.monotonic() - began))
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
    """What to give back for a job that raised: the error where it is not the job's, or an outcome, as for any other."""
    if isinstance(error, LmrbenchError):
        return error
    if isinstance(error, OSError | MemoryError):
        return SandboxError(f"this machine can't run a worker: {error or type(error).__name__}")
    missing = tuple(CaseOutcome("missing") for _ in job.observed)
    return Outcome(missing, broken=f"the harness failed on it: {type(error).__name__}: {error}")


def _died_first(outcome: Outcome) -> bool:
    """Whether the first case that was run ended in a death."""
    return next((case.status for case in outcome.cases if case.status != "missing"), "") == "died"
