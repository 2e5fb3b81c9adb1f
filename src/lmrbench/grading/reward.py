"""A reward for training loops: grade a candidate in one call, under cases that nobody has seen before.

A policy that is graded under the same cases again and again may learn these. So each call draws a fresh seed, observes
the reference under it, and keeps neither.
"""

from __future__ import annotations

import asyncio
import os
import threading
import weakref
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from pydantic import ValidationError

from lmrbench.errors import UsageError
from lmrbench.grading.grader import grade
from lmrbench.grading.records import Grade
from lmrbench.grading.reference import fresh_seed
from lmrbench.sandbox.protocol import DEFAULT_SANDBOX, WorkerPool
from lmrbench.sandbox.registry import open_pool
from lmrbench.tasks.loading import load_suite, suite_folder, suite_folders
from lmrbench.tasks.submission import Submission

POLICY = "policy"
# A batch holds tasks of several sets of packages, whose workers should not be started anew at each turn.
_KEPT = 4


@dataclass(frozen=True)
class _Pools:
    candidates: WorkerPool
    goldens: WorkerPool
    closing: ExitStack


class Grader:
    """Grades what a policy writes, one candidate a call. A context manager: leaving it ends all workers.

    Calls may come from any thread, at the same time. A process that is forked from this one gets workers of its own at
    its first call, and leaves its parent's alone.

    Args:
        suite: `core`, `real`, `all`, or the folder of a suite of your own.
        sandbox: the back end, `bubblewrap`, `process` or one of another package.
        workers: how many candidates run side by side; by default one per core. As many observe references.

    Raises:
        TaskError: something is wrong with the suite.
    """

    def __init__(
        self, suite: str | Path | None = None, *, sandbox: str = DEFAULT_SANDBOX, workers: int | None = None
    ) -> None:
        self._folder = suite_folder(suite)
        self.tasks = {task.id: task for task in load_suite(self._folder)}
        self._sandbox = sandbox
        self._workers = workers
        self._closed = False
        self._lock = threading.Lock()
        self._pools: _Pools | None = None
        _graders.add(self)

    def grade(self, task: str, candidate: str | Mapping[str, str]) -> Grade:
        """Grade one candidate under a fresh seed.

        Whatever a candidate is and does comes back as a grade: `share`, of the cases that match, is a reward that is
        shaped, and `passed` one that is strict. A case that took too long has the verdict `timeout`. Reasons and logs
        quote what the reference returned: show a policy nothing but `grade.blinded()`.

        Args:
            task: its id.
            candidate: a response as a model printed it, the bare functions, or a text for each goal file.

        Raises:
            UsageError: there is no such task, the candidate is neither a text nor texts by goal file, or the grader is
                closed.
            TaskError: the reference fails its own check.
            SandboxError: this machine can't run the sandbox, or the grader was closed meanwhile.
        """
        if task not in self.tasks:
            raise UsageError(f"there is no task {task!r} in this suite; `tasks` holds them all")
        submission = _submission(task, candidate)
        pools = self._opened()
        (found,) = grade(
            [submission],
            {task: self.tasks[task]},
            (fresh_seed(),),
            pools.candidates,
            goldens_pool=pools.goldens,
            keep_goldens=False,
        )
        return found

    async def grade_async(self, task: str, candidate: str | Mapping[str, str]) -> Grade:
        """The same as `grade`, for a loop of asyncio: others run meanwhile."""
        return await asyncio.to_thread(self.grade, task, candidate)

    def close(self) -> None:
        """End all workers; safe to call twice. Calls that are under way raise SandboxError."""
        with self._lock:
            self._closed = True
            pools, self._pools = self._pools, None
        if pools is not None:
            pools.closing.close()

    def __enter__(self) -> Grader:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _opened(self) -> _Pools:
        with self._lock:
            if self._closed:
                raise UsageError("the grader is closed")
            if self._pools is None:
                secrets = suite_folders(self._folder)
                with ExitStack() as stack:
                    candidates, goldens = (
                        stack.enter_context(open_pool(self._sandbox, secrets, self._workers, shared=True, kept=_KEPT))
                        for _ in range(2)
                    )
                    pools = _Pools(candidates, goldens, stack.pop_all())
                self._pools = pools
            return self._pools

    def _leave_to_the_parent(self) -> None:
        """In a forked child: hold no workers, and a lock that nobody holds."""
        _inherited.append(self._pools)
        self._lock, self._pools = threading.Lock(), None


def _submission(task: str, candidate: str | Mapping[str, str]) -> Submission:
    code = dict(candidate) if isinstance(candidate, Mapping) else candidate
    try:
        return Submission(system=POLICY, task=task, code=code)
    except ValidationError as error:
        given = "a mapping of other things" if isinstance(code, dict) else type(candidate).__name__
        raise UsageError(f"{task}: a candidate is a text, or a text for each goal file, not {given}") from error


_graders: weakref.WeakSet[Grader] = weakref.WeakSet()
# The workers of a parent are never given up in its child, which would write what is left in their buffers.
_inherited: list[_Pools | None] = []


def _leave_to_the_parent() -> None:
    for grader in _graders:
        grader._leave_to_the_parent()


os.register_at_fork(after_in_child=_leave_to_the_parent)
