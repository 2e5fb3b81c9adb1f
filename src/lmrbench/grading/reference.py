"""The drawn cases of a task and what its golden returns for them, for each grading digest, seed and environment.

Cases are drawn first, by the check alone, in a worker that no candidate ever enters; then the golden observes them as
any candidate does. What is kept is signed: an entry of the cache that is damaged, or was not written here, is made
again. A golden that can't be observed is the task's fault (`TaskError`) or the machine's (`SandboxError`), never a
candidate's.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

from pydantic import ConfigDict, ValidationError

from lmrbench.errors import RecordError, SandboxError, TaskError
from lmrbench.files import PRIVATE, cache_folder, made_once, read_plain, write_whole
from lmrbench.grading.given import empty_jobs, matches
from lmrbench.grading.signatures import signed, verified
from lmrbench.records import Record
from lmrbench.sandbox.inside.cases import encode_cases
from lmrbench.sandbox.inside.encoding import decode
from lmrbench.sandbox.packages import require_installed
from lmrbench.sandbox.protocol import Cases, Job, Outcome, WorkerPool
from lmrbench.sandbox.variables import fingerprint
from lmrbench.sandbox.venvs import environment_of
from lmrbench.tasks.checks import drawing, observing
from lmrbench.tasks.digests import grading_digest
from lmrbench.tasks.model import Task
from lmrbench.tasks.workspace import third_party_imports

# So many goldens are made, and kept, before the next ones are begun.
_AT_ONCE = 16
# What the drawn cases of one check may take.
MOST_CASES_MB = 256


class GoldenOutputs(Record):
    """Drawn cases, and the golden's observations of them under one seed.

    Attributes:
        names: of the cases.
        cases: all of them, encoded.
        observations: encoded, one for each case.
        case_seconds: processor seconds of each case.
        seconds: processor seconds of all of them together.
        given: for each case, whether an answer that only raises ValueError, or returns None, matches it too.
    """

    model_config = ConfigDict(ser_json_bytes="base64", val_json_bytes="base64")

    names: tuple[str, ...]
    cases: bytes
    observations: tuple[bytes, ...]
    case_seconds: tuple[float, ...]
    seconds: float
    given: tuple[bool, ...]

    @property
    def drawn(self) -> Cases:
        """The cases, as a job takes them."""
        return Cases(self.names, self.cases)


def environment_digest(task: Task) -> str:
    """A short digest of what a task's observations depend on besides task and seed, on this machine.

    Raises SandboxError if a package that the task imports is not installed.
    """
    require_installed(task)
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


@cache
def random_seed_of(seed: int) -> int:
    """Return what random number generators are seeded with under a seed.

    A candidate can read this number, and must not find the seed by trying all of them: each try takes milliseconds.
    """
    return int.from_bytes(hashlib.pbkdf2_hmac("sha256", str(seed).encode(), b"random numbers", 10_000, 4), "big")


def golden_outputs(
    tasks: Iterable[Task],
    seeds: Sequence[int],
    pool: WorkerPool,
    observed: Callable[[Task, int], None] = lambda task, seed: None,
    keep: bool = True,
) -> dict[tuple[str, int], GoldenOutputs]:
    """Return the golden's outputs for each task id and seed, from the cache or observed now.

    Args:
        tasks: each with a check.
        seeds: of the cases.
        pool: where cases are drawn and goldens observed.
        observed: called after each task and seed.
        keep: whether what is observed now is kept in the cache.

    Raises:
        TaskError: a check can't draw its cases, a golden fails its own check, or a task has none.
        SandboxError: the machine can't run the sandbox.
    """
    found: dict[tuple[str, int], GoldenOutputs] = {}
    todo: list[tuple[Task, int, Path]] = []
    for task in tasks:
        require_check(task)
        digest, environment = grading_digest(task), environment_digest(task)
        for seed in seeds:
            # Whatever generators are seeded with, the golden and a candidate are given the same.
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


def _made(wanted: Sequence[tuple[Task, int]], pool: WorkerPool) -> list[GoldenOutputs]:
    """Draw cases, and observe goldens and empty answers."""
    cases = drawn_cases(wanted, pool)
    jobs = [golden_job(task, seed, cases[task.id, seed]) for task, seed in wanted]
    every = [
        (number, job) for number, golden in enumerate(jobs) for job in (golden, *empty_jobs(wanted[number][0], golden))
    ]
    outcomes: list[dict[int, Outcome]] = [{} for _ in jobs]
    for place, outcome in pool.run([job for _, job in every]):
        outcomes[every[place][0]][place] = outcome
    made = []
    for (task, seed), job, of_task in zip(wanted, jobs, outcomes, strict=True):
        golden, *empty = (of_task[place] for place in sorted(of_task))
        outputs = outputs_of(task, seed, job.cases, golden)
        matched = [matches(task, outputs.observations, item) for item in empty]
        given = tuple(map(any, zip(*matched, strict=True))) or outputs.given
        made.append(outputs.model_copy(update={"given": given}))
    return made


def drawn_cases(
    wanted: Sequence[tuple[Task, int]], pool: WorkerPool, function: str = "cases"
) -> dict[tuple[str, int], Cases]:
    """Draw the cases of tasks under seeds.

    Args:
        wanted: tasks and seeds.
        pool: where they are drawn; no candidate shares its worker.
        function: of the check, that draws them.

    Returns:
        The cases by task id and seed.

    Raises:
        TaskError: a check can't draw its cases, or draws none.
        SandboxError: the machine can't run the sandbox.
    """
    jobs = [
        replace(
            golden_job(task, seed, Cases(("",), encode_cases([{"seed": seed}]))),
            observe=drawing(task.files.check, function),
            limits=task.limits.model_copy(update={"output_mb": MOST_CASES_MB}),
        )
        for task, seed in wanted
    ]
    found = {}
    for number, outcome in pool.run(jobs):
        task, seed = wanted[number]
        if outcome.lost:
            raise SandboxError(f"{task.id}: while cases were drawn, {_message(outcome)}")
        case = outcome.cases[0]
        if outcome.broken is not None or case.status != "observed":
            raise TaskError(f"{task.id}: the check can't be run: {(outcome.broken or case.message).strip()}")
        drawn = decode(case.payload)
        if not drawn["names"]:
            raise TaskError(f"{task.id}: the check has no cases under seed {seed}")
        found[task.id, seed] = Cases(tuple(drawn["names"]), drawn["cases"].values.tobytes())
    return found


def golden_job(task: Task, seed: int, cases: Cases) -> Job:
    """Return the job that observes a task's golden."""
    return Job(
        owner="golden",
        files=task.files.repository,
        observe=observing_of(task),
        cases=cases,
        limits=task.limits,
        check_seconds=task.limits.seconds,
        random_seed=random_seed_of(seed),
        imports=third_party_imports(task),
        environment=environment_of(task.paper.requirements),
    )


def observing_of(task: Task) -> str:
    """Return the source of the `observe` of a task's check; raises TaskError, which names the task, without one."""
    try:
        return observing(task.files.check)
    except TaskError as error:
        raise TaskError(f"{task.id}: {error}") from error


def _kept(file: Path) -> GoldenOutputs | None:
    try:
        data = verified(read_plain(file))
        return None if data is None else GoldenOutputs.model_validate_json(data)
    except (FileNotFoundError, ValidationError):
        return None


def outputs_of(task: Task, seed: int, cases: Cases, outcome: Outcome) -> GoldenOutputs:
    """Return what a golden's job brought.

    Raises:
        TaskError: the golden fails its own check.
        SandboxError: the job was lost.
    """
    if outcome.lost:
        raise SandboxError(f"{task.id}: while the golden was observed, {_message(outcome)}")
    if outcome.broken is not None:
        raise TaskError(f"{task.id}: the check can't be run: {outcome.broken.strip()}")
    for index, (name, case) in enumerate(zip(cases.names, outcome.cases, strict=True)):
        if case.status != "observed":
            message = case.message.strip() or case.status
            raise TaskError(
                f"{task.id}: the golden fails its own check in case {index} ({name}), seed {seed}: {message}"
            )
    return GoldenOutputs(
        names=cases.names,
        cases=cases.data,
        observations=tuple(case.payload for case in outcome.cases),
        case_seconds=tuple(case.seconds for case in outcome.cases),
        seconds=outcome.processor_seconds,
        given=(False,) * len(cases.names),
    )


def _message(outcome: Outcome) -> str:
    """What ended a worker that was lost."""
    return next((case.message for case in outcome.cases if case.status == "died"), "the worker was lost")
