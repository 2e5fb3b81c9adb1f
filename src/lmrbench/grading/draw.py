"""Create seeds, and draw the cases of checks from them.

Cases are the inputs on which a task's check observes the reference and the candidates. They are drawn in workers that
never run a candidate.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Sequence
from dataclasses import replace
from functools import cache

from lmrbench.errors import RecordError, SandboxError, TaskError
from lmrbench.files import cache_folder, made_once
from lmrbench.sandbox.inside.cases import encode_cases
from lmrbench.sandbox.inside.encoding import decode
from lmrbench.sandbox.protocol import Cases, Job, Outcome, WorkerPool
from lmrbench.sandbox.venvs import environment_of
from lmrbench.tasks.checks import drawing, observing
from lmrbench.tasks.model import Task
from lmrbench.tasks.workspace import third_party_imports

# Limit on the total size of the cases that one check draws from one seed.
MOST_CASES_MB = 256


def installation_seed() -> int:
    """Return the default seed of all runs, which is drawn once for this machine.

    The seed is secret, so answers that are hard-coded for a known seed fail by default. It stays the same, so that the
    outputs of references can be cached.

    Raises:
        RecordError: The file that stores the seed is damaged.
    """
    file = cache_folder() / "seed"
    try:
        return int(made_once(file, lambda: str(fresh_seed()).encode()))
    except ValueError as error:
        raise RecordError(f"{file} does not contain a seed; delete the file to draw a new one") from error


def fresh_seed() -> int:
    """Draw an unpredictable seed."""
    return secrets.randbelow(2**31)


@cache
def random_seed_of(seed: int) -> int:
    """Derive the seed of the sandbox's random number generators from the seed of the cases.

    A candidate can read the derived seed. The hash is deliberately slow (milliseconds), so that finding the original
    seed by trying all seeds would take too long.
    """
    return int.from_bytes(hashlib.pbkdf2_hmac("sha256", str(seed).encode(), b"random numbers", 10_000, 4), "big")


def drawn_cases(
    wanted: Sequence[tuple[Task, int]], pool: WorkerPool, function: str = "cases"
) -> dict[tuple[str, int], Cases]:
    """Draw the cases for each pair of a task and a seed.

    Args:
        wanted: Pairs of a task and a seed.
        pool: The pool that provides workers. Those that draw cases never run a candidate.
        function: The name of the check's function that draws cases.

    Returns:
        The cases by task id and seed.

    Raises:
        TaskError: A check can't draw its cases, or draws only edge cases, which a correct answer may fail.
        SandboxError: The machine can't run the sandbox.
    """
    jobs = [
        replace(
            reference_job(task, seed, Cases(("",), encode_cases([{"seed": seed}]))),
            observe=drawing(task.files.check, function),
            limits=task.limits.model_copy(update={"output_mb": MOST_CASES_MB}),
        )
        for task, seed in wanted
    ]
    found = {}
    for number, outcome in pool.run(jobs):
        task, seed = wanted[number]
        if outcome.lost:
            raise SandboxError(f"{task.id}: while cases were drawn, {why_lost(outcome)}")
        case = outcome.cases[0]
        if outcome.broken is not None or case.status != "observed":
            raise TaskError(f"{task.id}: the check can't be run: {(outcome.broken or case.message).strip()}")
        drawn = decode(case.payload)
        names, edge = tuple(drawn["names"]), frozenset(drawn["edge"])
        if len(edge) == len(names):
            raise TaskError(f"{task.id}: the check draws no ordinary case with seed {seed}")
        found[task.id, seed] = Cases(names, drawn["cases"].values.tobytes(), edge)
    return found


def reference_job(task: Task, seed: int, cases: Cases) -> Job:
    """Return the job that runs a task's reference on drawn cases."""
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
    """Return the source code of the `observe` function of a task's check.

    Raises:
        TaskError: The check does not define `observe`.
    """
    try:
        return observing(task.files.check)
    except TaskError as error:
        raise TaskError(f"{task.id}: {error}") from error


def why_lost(outcome: Outcome) -> str:
    """Return why the worker of a job was lost (it ended, hung or sent an invalid answer)."""
    return next((case.message for case in outcome.cases if case.status == "died"), "the worker was lost")
