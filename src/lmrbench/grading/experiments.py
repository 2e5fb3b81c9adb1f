"""Run the experiments of changed programs in a sandbox, and read the metrics that they log."""

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

    Args:
        task: Any task of the paper.
        programs: The files of each program.
        workers: The workers that run the programs.
        advance: Called with the number of finished runs and the total number of runs.
        threads: The number of threads of each program.
        seconds: Processor seconds that a program may take; by default those of the task.

    Returns:
        The metrics by stage; None for a program that raises an error, takes too long, or returns something else.
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
    """Return the metrics without `rates`, which are never compared."""
    return {stage: found for stage, found in metrics.items() if stage != RATES}


def flat(value: object, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the path, such as `evaluation/loss`, and the value of each item in nested dicts and lists."""
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
