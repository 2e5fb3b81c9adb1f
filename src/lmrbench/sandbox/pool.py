"""How do many jobs share few cores? One warm worker a core, each for one owner at a time, replaced when it is lost.

Outcomes come in the order in which jobs end. A worker that is lost costs the others nothing; its job is run once more
in a fresh one, and if that is lost too it was the job's doing.
"""

from __future__ import annotations

import os
import queue
import threading
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from types import TracebackType

from lmrbench.sandbox.protocol import Job, Outcome, Sandbox
from lmrbench.sandbox.warm_worker import WarmWorker

_Results = queue.SimpleQueue[tuple[int, Outcome | BaseException]]
_Pending = tuple[int, Job, _Results]


class WorkerPool:
    """Warm workers of one sandbox. A context manager: leaving it ends them all, whatever they were doing.

    isolate: jobs of two owners never run at the same time.
    """

    def __init__(
        self, sandbox: Sandbox, imports: Sequence[str], size: int | None = None, isolate: bool = False
    ) -> None:
        self.isolate = isolate
        self.sandbox = sandbox
        self.imports = tuple(imports)
        self._changed = threading.Condition()
        self._pending: dict[str, deque[_Pending]] = defaultdict(deque)
        self._served: Counter[str | None] = Counter()
        self._workers: dict[threading.Thread, WarmWorker] = {}
        self._closing = False
        # bwrap ends with the thread that started it, so each thread lives as long as the pool.
        self._threads = [
            threading.Thread(target=self._work, daemon=True) for _ in range(size or len(os.sched_getaffinity(0)))
        ]
        for thread in self._threads:
            thread.start()

    def __enter__(self) -> WorkerPool:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._changed:
            self._closing = True
            self._pending.clear()
            for worker in self._workers.values():
                worker.process.kill()
            self._changed.notify_all()
        for thread in self._threads:
            thread.join()

    def run(self, jobs: Iterable[Job]) -> Iterator[tuple[int, Outcome]]:
        """Run all jobs; yields the number of each with its outcome. Raises SandboxError if no worker can be started."""
        # A queue of its own: the outcomes of a run that was given up are not those of the next.
        results: _Results = queue.SimpleQueue()
        count = 0
        with self._changed:
            for count, job in enumerate(jobs, start=1):
                self._pending[job.owner].append((count - 1, job, results))
            self._changed.notify_all()
        try:
            for _ in range(count):
                number, result = results.get()
                if isinstance(result, BaseException):
                    raise result
                yield number, result
        finally:
            with self._changed:
                for owner, waiting in self._pending.items():
                    self._pending[owner] = deque(item for item in waiting if item[2] is not results)

    def _work(self) -> None:
        thread, owner = threading.current_thread(), None
        while (taken := self._take(owner)) is not None:
            number, job, results = taken
            try:
                if job.owner != owner:
                    self._close_worker(thread)
                    owner = job.owner
                outcome = self._run(thread, job)
                if outcome.lost:
                    outcome = self._run(thread, job)
                results.put((number, outcome))
            except BaseException as error:
                results.put((number, error))
        self._close_worker(thread)

    def _take(self, owner: str | None) -> _Pending | None:
        """The next job: one of the same owner if there is any, otherwise of the owner whom the fewest threads serve."""
        with self._changed:
            self._served[owner] -= 1
            if self.isolate:
                # Who waits for this owner's last job to end may go on.
                self._changed.notify_all()
            while not self._closing:
                waiting = [name for name, jobs in self._pending.items() if jobs]
                if self.isolate and (running := [name for name, count in self._served.items() if count > 0]):
                    waiting = [name for name in waiting if name in running]
                if waiting:
                    chosen = min(waiting, key=lambda name: (name != owner, self._served[name]))
                    self._served[chosen] += 1
                    return self._pending[chosen].popleft()
                self._changed.wait()
            return None

    def _run(self, thread: threading.Thread, job: Job) -> Outcome:
        worker = self._workers.get(thread)
        if worker is None or not worker.alive:
            worker = WarmWorker(self.sandbox, self.imports)
            with self._changed:
                self._workers[thread] = worker
                if self._closing:
                    worker.process.kill()
        return worker.run(job)

    def _close_worker(self, thread: threading.Thread) -> None:
        with self._changed:
            worker = self._workers.pop(thread, None)
        if worker is not None:
            worker.close()
