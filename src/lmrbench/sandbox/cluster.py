"""A pool of workers on a Ray cluster: one actor for each core, each with a warm worker of its own.

An actor is a process that Ray runs on a node. A warm worker is a sandboxed process that has imported its packages and
runs one job after another. `ClusterPool` has the interface of `LocalPool` and gives the same results. Jobs are sent in
batches. All jobs of a batch have the same owner (the author of their code). Each outcome is returned as soon as it is
known. A node sees the code that it runs, including the reference solution. The expected results stay with the caller,
which compares the outcomes with them. If a node is lost, another node runs those of its jobs that have no outcome yet.
"""

from __future__ import annotations

import logging
import os
import pickle
import socket
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import Any

from lmrbench.errors import SandboxError
from lmrbench.sandbox.protocol import Job, Outcome, Sandbox

# Turns off Ray's usage statistics. Ray reads the variable when it is imported.
os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")

import ray
from ray.exceptions import RayError, RayTaskError

_MOST_IN_A_BATCH = 16
# The number of times that jobs are sent again after their node was lost. The code that is graded cannot end an actor,
# so a further loss is a fault of the cluster.
_MOST_LOSSES = 3
# The time to wait for an actor to become ready, if no batch is running.
_PATIENCE_SECONDS = 120.0
_CONNECT_SECONDS = 10.0


class Actor:
    """The part of a `ClusterPool` that runs on a node: a pool with one worker."""

    def __init__(self, sandbox: str, secrets: Sequence[Path], shared: bool) -> None:
        """Open the pool; see `registry.open_pool` for the arguments."""
        # Not imported at the top, because the registry imports this module.
        from lmrbench.sandbox.registry import open_pool

        self._pool = open_pool(sandbox, secrets, workers=1, shared=shared)

    def ready(self) -> None:
        """Do nothing. The call returns once the actor is running and is not busy with a batch."""

    def run(self, pickled: bytes) -> Iterator[tuple[int, Outcome]]:
        """Run jobs.

        Args:
            pickled: A pickled list of jobs.

        Yields:
            The index of a job in the list and its outcome, in the order in which jobs end.

        Raises:
            SandboxError: A file or an environment is missing on this node, or no worker can be started.
        """
        try:
            jobs: list[Job] = pickle.loads(pickled)
        except FileNotFoundError as error:
            raise SandboxError(
                f"{_here()}: {error.filename} is missing; run lmrbench setup fetch on every node"
            ) from error
        for job in jobs:
            if job.environment is not None and not job.environment.is_dir():
                raise SandboxError(
                    f"{_here()}: {job.environment} is missing; run lmrbench setup env build on every node"
                )
        yield from self._pool.run(jobs)


@dataclass
class _Batch:
    """Jobs of one owner that are sent to an actor together.

    Attributes:
        jobs: Pairs of a job's number and the job. The number is the job's index in the call of `ClusterPool.run`.
        losses: How many times these jobs have been lost together with their node.
        arrived: The numbers of the jobs whose outcomes have arrived.
    """

    jobs: Sequence[tuple[int, Job]]
    losses: int = 0
    arrived: set[int] = field(default_factory=set)

    def pickled(self) -> bytes:
        return pickle.dumps([job for _, job in self.jobs])

    def again(self) -> _Batch:
        """Return a new batch of the jobs that have no outcome yet. Called if the node that ran this batch was lost."""
        left = [numbered for numbered in self.jobs if numbered[0] not in self.arrived]
        return _Batch(left, self.losses + 1)


class ClusterPool:
    """Warm workers on the cores of a Ray cluster.

    The pool is a context manager. Leaving it ends all workers.
    """

    def __init__(
        self,
        sandbox: Sandbox,
        secrets: Sequence[Path],
        workers: int | None = None,
        isolate: bool = False,
        shared: bool = False,
        address: str | None = None,
    ) -> None:
        """Connect to a cluster and start one actor for each worker.

        Args:
            sandbox: The back end, which must be installed on every node.
            secrets: The folders to hide from the workers on all nodes.
            workers: The number of actors; by default the number of the cluster's cores.
            isolate: Whether to keep jobs of different owners from running at the same time.
            shared: Whether jobs of different owners may share a worker; see `LocalPool`.
            address: The address of the cluster; by default the value of RAY_ADDRESS. If that is not set, a cluster is
                started on this machine, and stopped when the pool is closed.

        Raises:
            SandboxError: There is no cluster at the address, or a new cluster can't be started.
        """
        self.sandbox = sandbox
        self._isolate = isolate
        self._connected_here = not ray.is_initialized()
        if self._connected_here:
            known = address or os.environ.get("RAY_ADDRESS")
            try:
                if known:
                    _require_answer(known)
                ray.init(address=known, log_to_driver=False, logging_level=logging.ERROR)
            except (OSError, RuntimeError, ValueError) as error:
                said = str(error).strip().partition("\n")[0]
                raise SandboxError(f"no Ray cluster at {known or 'localhost'}: {said}") from error
        resources: Any = ray.cluster_resources  # The function has no type annotations.
        size = workers or max(1, int(resources().get("CPU", 1)))
        # If a node is lost, Ray restarts its actors on another node, and `run` sends their unfinished jobs again.
        remote: Any = ray.remote(num_cpus=1, max_restarts=-1, max_task_retries=0)(Actor)
        self._actors = [remote.remote(sandbox.name, tuple(secrets), shared) for _ in range(size)]

    def __enter__(self) -> ClusterPool:
        """Return the pool."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End all actors."""
        for actor in self._actors:
            ray.kill(actor)
        if self._connected_here:
            ray.shutdown()

    def run(self, jobs: Iterable[Job]) -> Iterator[tuple[int, Outcome]]:
        """Run all jobs.

        The callback `Job.ends_with` is ignored, because a function can't be sent to a node. So all cases of a job run.

        Yields:
            The index of each job in `jobs` and its outcome, in the order in which the jobs end.

        Raises:
            SandboxError: A node reports an error, no node answers, or the same jobs are lost too often.
        """
        of_owners: dict[str, list[tuple[int, Job]]] = {}
        for number, job in enumerate(jobs):
            of_owners.setdefault(job.owner, []).append((number, replace(job, ends_with=None)))
        most = max(1, min(_MOST_IN_A_BATCH, sum(map(len, of_owners.values())) // (2 * len(self._actors))))
        turns: list[deque[_Batch]] = [deque()]
        for some in of_owners.values():
            if self._isolate:
                turns.append(deque())
            turns[-1] += [_Batch(some[start : start + most]) for start in range(0, len(some), most)]
        for batches in turns:
            yield from self._spread(batches)

    def _spread(self, waiting: deque[_Batch]) -> Iterator[tuple[int, Outcome]]:
        """Run batches on the actors, and yield the number and the outcome of each job.

        A free actor gets one batch at a time, so that no batch waits for a busy node while another node is free.
        """
        free = {actor.ready.remote(): actor for actor in self._actors}
        running: dict[Any, tuple[Any, _Batch]] = {}
        while waiting or running:
            ready, _ = ray.wait([*running, *(free if waiting else ())], timeout=None if running else _PATIENCE_SECONDS)
            if not ready:
                raise SandboxError(f"no node of the Ray cluster answered for {_PATIENCE_SECONDS:.0f} s")
            event: Any = ready[0]
            try:
                if event in free:
                    ray.get(event)
                    actor, batch = free.pop(event), waiting.popleft()
                    running[actor.run.options(num_returns="streaming").remote(batch.pickled())] = actor, batch
                else:
                    actor, batch = running[event]
                    place, outcome = ray.get(next(event))
                    number = batch.jobs[place][0]
                    batch.arrived.add(number)
                    yield number, outcome
            except StopIteration:
                del running[event]
                free[actor.ready.remote()] = actor
            except RayTaskError as error:
                raise SandboxError(str(error.cause)) from error
            except RayError as error:
                if event in free:
                    actor = free.pop(event)
                else:
                    actor, batch = running.pop(event)
                    if batch.losses == _MOST_LOSSES:
                        raise SandboxError(
                            f"the Ray cluster lost the same jobs {batch.losses + 1} times: {error}"
                        ) from error
                    waiting.appendleft(batch.again())
                free[actor.ready.remote()] = actor


def _require_answer(address: str) -> None:
    """Check that HOST:PORT accepts connections.

    If nothing accepted connections there, Ray would end this process instead of raising an error.

    Raises:
        OSError: Nothing accepts connections at this address.
        ValueError: The port is not a number.
    """
    host, _, port = address.rpartition(":")
    if host and not host.endswith("//"):
        socket.create_connection((host, int(port)), _CONNECT_SECONDS).close()


def _here() -> str:
    return socket.gethostname()
