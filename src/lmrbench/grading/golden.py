"""What does the golden return? Observed once for each grading digest, seed and environment, then kept.

What is kept is signed: an entry of the cache that is damaged, or was not written here, is observed again.
A golden that can't be observed is the task's fault (`TaskError`) or the machine's (`SandboxError`), never a
candidate's.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from pydantic import ConfigDict, ValidationError

from lmrbench.errors import RecordError, SandboxError, TaskError
from lmrbench.grading.signatures import signed, verified
from lmrbench.records import Record
from lmrbench.sandbox.environment import fingerprint
from lmrbench.sandbox.environments import environment_of
from lmrbench.sandbox.protocol import Job, Outcome, WorkerPool
from lmrbench.storage import PRIVATE, cache_folder, made_once, read_plain, write_whole
from lmrbench.tasks.digests import grading_digest
from lmrbench.tasks.model import Task
from lmrbench.tasks.workspace import third_party_imports


class GoldenOutputs(Record):
    """The golden's observations under one seed: for each case its name, encoded observation and seconds."""

    model_config = ConfigDict(ser_json_bytes="base64", val_json_bytes="base64")

    names: tuple[str, ...]
    observations: tuple[bytes, ...]
    case_seconds: tuple[float, ...]
    seconds: float


def environment_digest(task: Task) -> str:
    """A short digest of what a task's observations depend on besides task and seed, on this machine."""
    found = fingerprint(third_party_imports(task), environment_of(task.paper.requirements))
    return hashlib.sha256(json.dumps(found, sort_keys=True).encode()).hexdigest()[:16]


def installation_seed() -> int:
    """The seed of every run that names none: drawn once on this machine, then kept.

    Nobody who writes a candidate elsewhere knows it, so answers that are hard-coded for some seed are worthless by
    default; and golden outputs can be kept all the same.
    """
    file = cache_folder() / "seed"
    try:
        return int(made_once(file, lambda: str(fresh_seed()).encode()))
    except ValueError as error:
        raise RecordError(f"{file}: is not a seed; delete it, and another is drawn") from error


def fresh_seed() -> int:
    """A seed that nobody can know beforehand."""
    return secrets.randbelow(2**31)


def require_check(task: Task) -> None:
    """Raise TaskError for a task that can't be graded."""
    if not task.files.check:
        raise TaskError(f"{task.id}: has no check, so that it can't be graded")


def golden_outputs(
    tasks: Iterable[Task],
    seeds: Sequence[int],
    pool: WorkerPool,
    observed: Callable[[Task, int], None] = lambda task, seed: None,
    keep: bool = True,
) -> dict[tuple[str, int], GoldenOutputs]:
    """The golden's observations for each task id and seed, from the cache or observed now.

    observed: called after each task and seed. keep: in the cache, what was observed now. Raises TaskError where a
    golden fails its own check, or has none.
    """
    found: dict[tuple[str, int], GoldenOutputs] = {}
    todo: list[tuple[Task, int, Path]] = []
    for task in tasks:
        require_check(task)
        digest, environment = grading_digest(task), environment_digest(task)
        for seed in seeds:
            file = cache_folder() / "golden" / f"{digest[:32]}-{seed}-{environment}.json"
            if (kept := _kept(file)) is None:
                todo.append((task, seed, file))
            else:
                found[task.id, seed] = kept
                observed(task, seed)
    jobs = [
        Job(
            owner="golden",
            files=task.files.repository,
            check=task.files.check,
            seed=seed,
            limits=task.limits,
            task_seconds=task.limits.seconds,
            imports=third_party_imports(task),
            environment=environment_of(task.paper.requirements),
        )
        for task, seed, _ in todo
    ]
    for number, outcome in pool.run(jobs):
        task, seed, file = todo[number]
        outputs = outputs_of(task, seed, outcome)
        if keep:
            write_whole(file, signed(outputs.model_dump_json()), PRIVATE)
        found[task.id, seed] = outputs
        observed(task, seed)
    return found


def _kept(file: Path) -> GoldenOutputs | None:
    try:
        data = verified(read_plain(file))
        return None if data is None else GoldenOutputs.model_validate_json(data)
    except (FileNotFoundError, ValidationError):
        return None


def outputs_of(task: Task, seed: int, outcome: Outcome) -> GoldenOutputs:
    """What a golden's job brought. Raises TaskError where it fails its own check, SandboxError where it was lost."""
    if outcome.lost:
        raise SandboxError(f"{task.id}: while the golden was observed, {outcome.broken or outcome.cases[-1].message}")
    if outcome.broken is not None:
        raise TaskError(f"{task.id}: the check can't be run: {outcome.broken.strip()}")
    if not outcome.cases:
        raise TaskError(f"{task.id}: the check has no cases under seed {seed}")
    for index, (name, case) in enumerate(zip(outcome.names, outcome.cases, strict=True)):
        if case.status != "observed":
            message = case.message.strip() or case.status
            raise TaskError(
                f"{task.id}: the golden fails its own check in case {index} ({name}), seed {seed}: {message}"
            )
    return GoldenOutputs(
        names=outcome.names,
        observations=tuple(case.payload for case in outcome.cases),
        case_seconds=tuple(case.seconds for case in outcome.cases),
        seconds=outcome.seconds,
    )
