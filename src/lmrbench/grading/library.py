"""Grade submissions in one call."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from lmrbench.errors import UsageError
from lmrbench.grading.grader import Grader
from lmrbench.grading.plan import GradingPlan
from lmrbench.grading.records import Grade
from lmrbench.sandbox.protocol import DEFAULT_SANDBOX
from lmrbench.tasks.loading import load_suite
from lmrbench.tasks.model import Task
from lmrbench.tasks.submission import Submission


def grade(
    submissions: Iterable[Submission],
    *,
    tasks: Iterable[Task] | None = None,
    seeds: Sequence[int] | None = None,
    sandbox: str = DEFAULT_SANDBOX,
    workers: int | None = None,
    isolate: bool = False,
) -> list[Grade]:
    """Grade submissions: run each on test cases in a sandbox, and compare its outputs with those of the reference.

    Args:
        submissions: The submissions. One that can't be used gets a failed grade, not an error.
        tasks: The tasks of your own suite, as `load_suite` returns them; by default those that come with lmrbench.
        seeds: The seeds that test cases are drawn from; the cases of all seeds count. By default, this installation's
            own secret seed is used.
        sandbox: The name of a back end: `bubblewrap`, `landlock`, `docker`, `process`, or one that another package
            provides. `auto` uses the first of bubblewrap, landlock and docker that works.
        workers: Number of warm workers; by default one per core.
        isolate: Whether to keep the code of different systems from running at the same time.

    Returns:
        The grades, in the order of the submissions. They are not stored; only the references' outputs are cached.

    Raises:
        UsageError: A submission names an unknown task.
        TaskError: A reference fails its own check.
        SandboxError: This machine can't run the sandbox.
    """
    known = {task.id: task for task in (load_suite() if tasks is None else tasks)}
    asked = list(submissions)
    if unknown := sorted({item.task for item in asked} - known.keys()):
        raise UsageError(f"there is no task {unknown[0]!r}; `lmrbench list` shows all tasks")
    plan = GradingPlan(tuple(seeds or ()), sandbox=sandbox, workers=workers, isolate=isolate)
    with Grader(known, plan) as grader:
        found = dict(grader.grade_all(asked))
    return [found[number] for number in range(len(asked))]
