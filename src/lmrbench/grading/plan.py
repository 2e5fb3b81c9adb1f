"""The class `GradingPlan`, which holds the conditions under which submissions are graded."""

from __future__ import annotations

from dataclasses import dataclass

from lmrbench.sandbox.protocol import DEFAULT_SANDBOX, LOCAL, Executor

# The value of `kept` for training. A batch mixes tasks that import different packages, and each task has jobs of two
# owners (reference and candidate), so a thread needs a worker for each of several kinds of jobs.
KEPT_IN_TRAINING = 8


@dataclass(frozen=True)
class GradingPlan:
    """The conditions under which submissions are graded.

    Attributes:
        seeds: Seeds that cases are drawn from; the cases of all seeds count. If empty, this installation's own seed is
            used.
        fresh_seeds: Whether the seeds were drawn for this run alone.
        keep_references: Whether to cache the outputs of references.
        fail_fast: Whether to skip, for each seed, the cases that follow the first failure.
        blind: Whether to omit reasons, logs and names of cases from the run folder.
        sandbox: Name of the back end, or `auto`.
        executor: Where the workers run: on this machine or on a cluster.
        workers: Number of workers; one per core if None.
        isolate: Whether to keep the code of different systems from running at the same time.
        shared: Whether all systems share workers. This is safe only for code that comes with the suite.
        kept: Number of workers that each thread keeps, one per kind of job; see `LocalPool`.
    """

    seeds: tuple[int, ...] = ()
    fresh_seeds: bool = False
    keep_references: bool = True
    fail_fast: bool = False
    blind: bool = False
    sandbox: str = DEFAULT_SANDBOX
    executor: Executor = LOCAL
    workers: int | None = None
    isolate: bool = False
    shared: bool = False
    kept: int = 1
