"""Audit the tasks of a suite: choose the tasks to audit, store their certificates, and collect their shortfalls.

A certificate contains the results of an audit. A shortfall is a requirement of the audit that a task does not meet.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from lmrbench.authoring.audit.auditing import audit
from lmrbench.authoring.audit.certificate import (
    LEAK_SHARE,
    Certificate,
    read_certificate,
    read_runs,
    why_none,
    write_certificate,
)
from lmrbench.authoring.audit.leaks import foreign_leaks, leaks_between_tiers, missing, worst_leak
from lmrbench.authoring.audit.tiers import audit_of_tier
from lmrbench.authoring.audit.visibility import by_place, deciding_sentences
from lmrbench.authoring.new.drafting import left_to_do
from lmrbench.errors import TaskError
from lmrbench.progress import Advance, Stages
from lmrbench.sandbox.protocol import DEFAULT_SANDBOX, WorkerPool
from lmrbench.sandbox.registry import open_pool
from lmrbench.tasks.digests import audit_digest, runs_digest
from lmrbench.tasks.loading import suite_folders
from lmrbench.tasks.model import Task

QUICK_SEEDS = 3


def audited(
    tasks: Iterable[Task], seeds: int, pool: WorkerPool, advance: Advance, write: bool
) -> Iterator[Certificate]:
    """Audit tasks and yield their certificates.

    Args:
        tasks: The tasks to audit.
        seeds: The number of seeds. The seeds are the same on every machine, so that certificates can be compared.
        pool: The workers that run the audits.
        advance: Called with the name of a stage, the number of its finished steps, and the number of all its steps.
        write: Whether to store each certificate in the folder of the task's paper.
    """
    for task in tasks:

        def told(stage: str, done: int, total: int | None, name: str = task.id) -> None:
            advance(f"{name}: {stage}", done, total)

        measure = audit if task.tier == "function" else audit_of_tier
        measured = measure(task, range(seeds), pool, told)
        certificate = measured.model_copy(update={"tier": task.tier, "runs": runs_digest(task)})
        if write:
            write_certificate(task, certificate)
        yield certificate


def audit_all(
    tasks: Sequence[Task], seeds: int, pool: WorkerPool, stages: Stages, write: bool
) -> dict[str, Certificate]:
    """Audit tasks, and return their certificates by task id.

    Args:
        tasks: See `audited`.
        seeds: See `audited`.
        pool: See `audited`.
        stages: Shows the progress.
        write: See `audited`.
    """
    found = {}
    with stages("tasks", len(tasks)) as (finished, advance):
        for certificate in audited(tasks, seeds, pool, advance, write):
            found[certificate.task] = certificate
            finished()
    return found


def quick_shortfalls(task: Task, advance: Advance) -> tuple[str, ...]:
    """Audit a task under a few seeds, and return the reasons why it cannot ship. The certificate is not stored.

    Args:
        task: The task to audit. If an error prevents the audit, the error is returned as the only reason.
        advance: See `audited`.
    """
    try:
        with open_pool(DEFAULT_SANDBOX, suite_folders(task.folder.parent)) as pool:
            (certificate,) = audited([task], QUICK_SEEDS, pool, advance, write=False)
    except TaskError as error:
        return (str(error),)
    return tuple(certificate.shortfalls)


def renewed(tasks: Iterable[Task], seeds: int) -> dict[str, Certificate]:
    """Renew and store the certificates that are stale only because texts for solvers have changed. Nothing is run.

    Args:
        tasks: The tasks without a valid certificate.
        seeds: The smallest number of seeds that a certificate must cover to be renewed.

    Returns:
        The renewed certificates, by task id.

    Raises:
        TaskError: A sentence that the author quotes as the reason why a mutant is wrong is in no text for solvers.
    """
    found = {}
    for task in tasks:
        if (known := read_runs(task)) is not None and known.seeds >= seeds:
            update: dict[str, object] = {"digest": audit_digest(task), "leak": worst_leak(task)}
            # The texts of a method task need not state its constants; see `tiers`.
            if known.visible is None:
                update["missing"] = missing(task)
            else:
                told = {"sentences": by_place(deciding_sentences(task)), "only_logs": task.only_logs}
                update["visible"] = known.visible.model_copy(update=told)
            found[task.id] = known.model_copy(update=update)
            write_certificate(task, found[task.id])
    return found


def plan(
    tasks: Sequence[Task], seeds: int, again: bool, renew: bool
) -> tuple[dict[str, Certificate | None], list[Task]]:
    """Return the valid certificate of each task (or None), by task id, and the tasks to audit.

    A task is audited if it has no valid certificate over enough seeds, or if the certificate has shortfalls. A task
    whose certificate has just been renewed is not audited.

    Args:
        tasks: The tasks to choose from.
        seeds: The smallest number of seeds that a certificate must cover.
        again: Whether to audit all tasks.
        renew: Whether to renew certificates that are stale only because texts for solvers have changed.
    """
    known = {task.id: read_certificate(task) for task in tasks}
    fresh = renewed([task for task in tasks if known[task.id] is None], seeds) if renew and not again else {}
    todo = []
    for task in tasks:
        certificate = known[task.id]
        holds = certificate is not None and certificate.seeds >= seeds and not certificate.shortfalls
        if again or not (holds or task.id in fresh):
            todo.append(task)
    return known | fresh, todo


def shortfalls(
    every_task: Iterable[Task], tasks: Sequence[Task], certificates: Mapping[str, Certificate | None]
) -> dict[str, list[str]]:
    """Return the reasons why each task cannot ship, by task id.

    Args:
        every_task: All tasks of the same tier. Their answers must not be in the workspaces of other papers' tasks.
        tasks: The tasks to report.
        certificates: The valid certificate of each task, or None, by task id.
    """
    foreign: dict[str, list[str]] = defaultdict(list)
    for task, other, leak in foreign_leaks(every_task):
        if leak.share > LEAK_SHARE:
            text = f"{leak.place} contains {leak.share:.0%} of the answer to {other.id}, more than {LEAK_SHARE:.0%}"
            foreign[task.id].append(text)
    return {
        task.id: [*_of_certificate(task, certificates[task.id]), *foreign.get(task.id, ()), *left_to_do(task)]
        for task in tasks
    }


def _of_certificate(task: Task, certificate: Certificate | None) -> Sequence[str]:
    if certificate is None:
        return [f"no valid certificate: the task {why_none(task)}; run `lmrbench task audit {task.id}`"]
    return certificate.shortfalls


def answers_of_other_tiers(tasks: Iterable[Task], papers: Collection[str]) -> dict[str, list[str]]:
    """Return warnings about workspaces that contain answers to tasks of other tiers, by the id of the workspace's task.

    These warnings are not shortfalls, because a solver should only get tasks of one tier.

    Args:
        tasks: All tasks of a suite.
        papers: The slugs of the papers to report.
    """
    found: dict[str, list[str]] = defaultdict(list)
    for task, other, leak in leaks_between_tiers(task for task in tasks if task.paper.slug in papers):
        if leak.share > LEAK_SHARE:
            text = (
                f"its workspace contains an answer to {other.id} ({other.tier} tier): {leak.place} has {leak.share:.0%}"
            )
            found[task.id].append(f"{text} of a function; do not give both tasks to one solver")
    return found
