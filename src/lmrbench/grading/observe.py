"""Observe the outputs of references once for each grading digest, seed and environment, and cache them.

The reference of a task is the complete, correct repository. A grading digest is a hash of everything in a task that
verdicts depend on. References are run on drawn cases in the same way as candidates. Cache entries are signed; an entry
that is damaged, or that another installation wrote, is replaced. If a reference can't be observed, the task
(`TaskError`) or the machine (`SandboxError`) is at fault, never a candidate.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from pydantic import ConfigDict, ValidationError

from lmrbench.errors import SandboxError, TaskError
from lmrbench.files import PRIVATE, cache_folder, read_plain, write_whole
from lmrbench.grading.draw import drawn_cases, random_seed_of, reference_job, why_lost
from lmrbench.grading.given import empty_jobs, matches
from lmrbench.grading.signatures import signed, verified
from lmrbench.records import Record
from lmrbench.sandbox.inside.encoding import decode
from lmrbench.sandbox.packages import require_installed
from lmrbench.sandbox.protocol import Cases, Outcome, WorkerPool
from lmrbench.sandbox.variables import fingerprint
from lmrbench.sandbox.venvs import environment_of
from lmrbench.tasks.digests import grading_digest
from lmrbench.tasks.model import Task
from lmrbench.tasks.workspace import third_party_imports

# References are observed in batches of this size. The outputs of a batch are cached when all of it has been observed.
_AT_ONCE = 16


class ReferenceOutputs(Record):
    """The cases that a check drew with one seed, and the reference's outputs on them.

    Attributes:
        names: Names of the cases.
        cases: All cases, encoded.
        observations: For each case, the reference's output, encoded.
        case_seconds: Processor seconds of each case.
        seconds: Processor seconds of all cases together.
        given: For each case, whether it is matched by an empty answer, in which every function only raises ValueError
            or only returns None.
        edge: The numbers of the edge cases.
    """

    model_config = ConfigDict(ser_json_bytes="base64", val_json_bytes="base64")

    names: tuple[str, ...]
    cases: bytes
    observations: tuple[bytes, ...]
    case_seconds: tuple[float, ...]
    seconds: float
    given: tuple[bool, ...]
    edge: frozenset[int] = frozenset()

    @property
    def drawn(self) -> Cases:
        """The cases in the form that a `Job` takes."""
        return Cases(self.names, self.cases, self.edge)

    @cached_property
    def decoded(self) -> tuple[Any, ...]:
        """The observations, decoded once for all candidates."""
        return tuple(map(decode, self.observations))


def environment_digest(task: Task) -> str:
    """Return a short digest of those parts of this machine's environment that a task's observations depend on.

    Raises:
        SandboxError: A package that the task imports is not installed.
    """
    require_installed(task)
    found = fingerprint(third_party_imports(task), environment_of(task.paper.requirements))
    return hashlib.sha256(json.dumps(found, sort_keys=True).encode()).hexdigest()[:16]


def require_check(task: Task) -> None:
    """Raise TaskError for a task without a check."""
    if not task.files.check:
        raise TaskError(f"{task.id} has no check and can't be graded")


def reference_outputs(
    tasks: Iterable[Task],
    seeds: Sequence[int],
    pool: WorkerPool,
    observed: Callable[[Task, int], None] = lambda task, seed: None,
    keep: bool = True,
) -> dict[tuple[str, int], ReferenceOutputs]:
    """Return the outputs of each task's reference for each seed, from the cache or by running the reference.

    Args:
        tasks: The tasks, each with a check.
        seeds: The seeds of the cases.
        pool: The workers that draw cases and observe references.
        observed: Called with each task and seed as soon as the outputs are ready.
        keep: Whether to cache new observations.

    Returns:
        The outputs by task id and seed.

    Raises:
        TaskError: A check can't draw its cases, a reference fails its own check, or a task has no check.
        SandboxError: The machine can't run the sandbox.
    """
    found: dict[tuple[str, int], ReferenceOutputs] = {}
    todo: list[tuple[Task, int, Path]] = []
    for task in tasks:
        require_check(task)
        digest, environment = grading_digest(task), environment_digest(task)
        for seed in seeds:
            # The file's name contains the seed of the random number generators, because a candidate must run with the
            # same one as the reference.
            file = cache_folder() / "golden" / f"{digest[:32]}-{seed}-{random_seed_of(seed)}-{environment}.json"
            if (kept := _kept(file)) is None:
                todo.append((task, seed, file))
            else:
                found[task.id, seed] = kept
                observed(task, seed)
    for start in range(0, len(todo), _AT_ONCE):
        some = todo[start : start + _AT_ONCE]
        for (task, seed, file), outputs in zip(some, _made([item[:2] for item in some], pool), strict=True):
            if keep:
                write_whole(file, signed(outputs.model_dump_json()), PRIVATE)
            found[task.id, seed] = outputs
            observed(task, seed)
    return found


def _made(wanted: Sequence[tuple[Task, int]], pool: WorkerPool) -> list[ReferenceOutputs]:
    """Draw cases, observe references on them, and find the cases that empty answers match (see `grading.given`)."""
    cases = drawn_cases(wanted, pool)
    jobs = [reference_job(task, seed, cases[task.id, seed]) for task, seed in wanted]
    every = [
        (number, job)
        for number, reference in enumerate(jobs)
        for job in (reference, *empty_jobs(wanted[number][0], reference))
    ]
    outcomes: list[dict[int, Outcome]] = [{} for _ in jobs]
    for place, outcome in pool.run([job for _, job in every]):
        outcomes[every[place][0]][place] = outcome
    made = []
    for (task, seed), job, of_task in zip(wanted, jobs, outcomes, strict=True):
        reference, *empty = (of_task[place] for place in sorted(of_task))
        outputs = outputs_of(task, seed, job.cases, reference)
        matched = [matches(task, outputs.decoded, item) for item in empty]
        given = tuple(map(any, zip(*matched, strict=True))) or outputs.given
        made.append(outputs.model_copy(update={"given": given}))
    return made


def _kept(file: Path) -> ReferenceOutputs | None:
    try:
        data = verified(read_plain(file))
        return None if data is None else ReferenceOutputs.model_validate_json(data)
    except (FileNotFoundError, ValidationError):
        return None


def outputs_of(task: Task, seed: int, cases: Cases, outcome: Outcome) -> ReferenceOutputs:
    """Convert the outcome of a reference's job to the reference's outputs.

    Raises:
        TaskError: The reference fails its own check.
        SandboxError: The worker was lost during the job.
    """
    if outcome.lost:
        raise SandboxError(f"{task.id}: while the reference was observed, {why_lost(outcome)}")
    if outcome.broken is not None:
        raise TaskError(f"{task.id}: the check can't be run: {outcome.broken.strip()}")
    for index, (name, case) in enumerate(zip(cases.names, outcome.cases, strict=True)):
        if case.status != "observed":
            message = case.message.strip() or case.status
            raise TaskError(
                f"{task.id}: the reference fails its own check in case {index} ({name}), seed {seed}: {message}"
            )
    return ReferenceOutputs(
        names=cases.names,
        cases=cases.data,
        observations=tuple(case.payload for case in outcome.cases),
        case_seconds=tuple(case.seconds for case in outcome.cases),
        seconds=outcome.processor_seconds,
        given=(False,) * len(cases.names),
        edge=cases.edge,
    )
