"""Run the experiments of changed programs in a sandbox, and return the metrics that they log.

A changed program is a paper's repository with some edits. Its experiment is the function `run(seed)` in experiment.py,
which returns metrics, such as losses, for each stage of the computation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from lmrbench.grading.draw import drawn_cases, reference_job
from lmrbench.sandbox.inside.encoding import decode
from lmrbench.sandbox.protocol import WorkerPool
from lmrbench.tasks.model import Task
from lmrbench.tasks.tiers.logged import EXPERIMENT, PUBLISHED_SEEDS, RATES, published_check
from lmrbench.tasks.workspace import third_party_imports

# Metrics by stage, in the order in which the program returns them.
Metrics = Mapping[str, Mapping[str, float]]


def logs_of(
    task: Task,
    programs: Sequence[Mapping[str, bytes]],
    workers: WorkerPool,
    advance: Callable[[int, int], None],
    *,
    threads: int = 1,
    seconds: float | None = None,
) -> list[Metrics | None]:
    """Run each program in a sandbox with the first published seed, and return the metrics that it logs.

    The published seeds are those whose logs solvers get; grading uses other seeds.

    Args:
        task: Any task of the paper.
        programs: For each program, the contents of its files by path.
        workers: The workers that run the programs.
        advance: Called with the number of finished runs and the total number of runs.
        threads: The number of threads of each program.
        seconds: Processor seconds that a program may take; by default the limit of the task.

    Returns:
        The metrics by stage for each program; None if it raises an error, takes too long, or returns anything else.
    """
    check = published_check(third_party_imports(task), PUBLISHED_SEEDS[:1], threads)
    logging = task.model_copy(update={"files": replace(task.files, check=check)})
    cases = drawn_cases([(logging, 0)], workers)[logging.id, 0]
    job = replace(reference_job(logging, 0, cases), owner="forging")
    if seconds is not None:
        job = replace(job, check_seconds=seconds, confirmed=False)
    found: list[Metrics | None] = [None] * len(programs)
    advance(0, len(programs))
    jobs = [replace(job, files=files) for files in programs]
    for done, (number, outcome) in enumerate(workers.run(jobs), start=1):
        if outcome.cases and outcome.cases[0].status == "observed":
            metrics = decode(outcome.cases[0].payload)[EXPERIMENT]
            found[number] = metrics if _are_by_stage(metrics) else None
        advance(done, len(programs))
    return found


def _are_by_stage(metrics: object) -> bool:
    return isinstance(metrics, dict) and all(isinstance(value, dict) for value in metrics.values())


def decisive(metrics: Metrics) -> Metrics:
    """Return the metrics without the entry `rates` (counts and shares, for information only), which is not compared."""
    return {stage: found for stage, found in metrics.items() if stage != RATES}


def flat(value: object, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield each value in nested dicts and lists together with its path, such as `evaluation/loss`."""
    items: Iterable[tuple[object, object]]
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list):
        items = enumerate(value)
    else:
        yield path, value
        return
    for key, item in items:
        yield from flat(item, f"{path}/{key}".lstrip("/"))
