"""The conditions of a grading."""

from __future__ import annotations

from dataclasses import dataclass

from lmrbench.sandbox.protocol import DEFAULT_SANDBOX, LOCAL, Executor

# A batch of training holds tasks of several package sets, of references and of candidates.
KEPT_IN_TRAINING = 8


@dataclass(frozen=True)
class GradingPlan:
    """The conditions of a grading.

    Attributes:
        seeds: seeds of the cases; every case under every seed counts. Empty for this installation's own seed.
        fresh_seeds: whether the seeds were drawn for this grading alone.
        keep_references: whether to cache the outputs of references.
        fail_fast: skip the cases that follow the first failure under a seed.
        blind: write no reasons, logs and names of cases into the run folder.
        sandbox: name of the back end, or `auto`.
        executor: where the workers run.
        workers: number of workers; one per core if None.
        isolate: never run the code of two systems at the same time.
        shared: let all systems share workers. For code that comes with the suite.
        kept: number of package sets for which a thread keeps its worker.
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
