"""pass@k and pass^k: the chance that at least one of k answers to a task passes, and that all k pass."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import comb
from typing import TYPE_CHECKING

from lmrbench.grading.records import Grade
from lmrbench.records import Record, grouped
from lmrbench.report.measures import Measured, measure
from lmrbench.report.render.cells import percent, span_of
from lmrbench.report.render.tables import sheet
from lmrbench.report.statistics import Estimate, estimate

if TYPE_CHECKING:
    from lmrbench.report.findings import Findings

# The values of k that are reported, in addition to the smallest number of answers to a task.
STEPS = (1, 2, 5, 10, 20, 50, 100)


class Attempts(Record):
    """pass@k and pass^k of one system for one k, as means over the tasks that have an answer.

    Attributes:
        k: The number of answers that are drawn from the answers to each task.
        tasks: The number of tasks that have an answer.
        pass_at_k: The chance that at least one of k answers passes.
        pass_hat_k: The chance that all k answers pass, written pass^k.
    """

    k: int
    tasks: int
    pass_at_k: Estimate
    pass_hat_k: Estimate


def pass_at_k(answers: int, passes: int, k: int) -> float:
    """Return 1 - C(n-c, k) / C(n, k), an unbiased estimate of pass@k.

    pass@k is the probability that at least one of k answers passes. See Chen et al., Evaluating Large Language Models
    Trained on Code, 2021, section 2.1.

    Args:
        answers: n, the number of answers.
        passes: c, the number of passing answers.
        k: The number of answers that are drawn.

    Raises:
        ValueError: Unless 1 <= k <= n and 0 <= c <= n.
    """
    _check(answers, passes, k)
    return 1 - comb(answers - passes, k) / comb(answers, k)


def pass_hat_k(answers: int, passes: int, k: int) -> float:
    """Return C(c, k) / C(n, k), an unbiased estimate of pass^k.

    pass^k is the probability that all k answers pass. See Yao et al., tau-bench, 2024, section 3. The arguments and
    errors are those of `pass_at_k`.
    """
    _check(answers, passes, k)
    return comb(passes, k) / comb(answers, k)


def attempts(grades: Iterable[Grade]) -> dict[str, list[Attempts]]:
    """Estimate pass@k and pass^k of each system.

    Args:
        grades: The graded answers of all systems. Unanswered samples have no grade, so they do not count.

    Returns:
        The estimates of each system, for each k in `STEPS` up to n and for n itself. n is the smallest number of
        answers that the system gave to one of its tasks.
    """
    found = {}
    for system, items in grouped(grades, lambda item: item.system).items():
        of_tasks = grouped(items, lambda item: item.task)
        counts = {task: (len(of_task), sum(item.correct for item in of_task)) for task, of_task in of_tasks.items()}
        most = min(answers for answers, _ in counts.values())
        found[system] = [_attempts(counts, k) for k in sorted({most, *(step for step in STEPS if step <= most)})]
    return found


def _attempts(counts: Mapping[str, tuple[int, int]], k: int) -> Attempts:
    return Attempts(
        k=k,
        tasks=len(counts),
        pass_at_k=estimate({task: pass_at_k(*count, k) for task, count in counts.items()}),
        pass_hat_k=estimate({task: pass_hat_k(*count, k) for task, count in counts.items()}),
    )


def _check(answers: int, passes: int, k: int) -> None:
    if not (1 <= k <= answers and 0 <= passes <= answers):
        raise ValueError(
            f"expected 1 <= k <= answers and 0 <= passes <= answers; got {passes} passes, {answers} answers and k = {k}"
        )


@measure()
def measured_attempts(findings: Findings) -> Measured:
    """Measure pass@k and pass^k. There is no table unless a system has several answers to each task."""
    found = attempts(findings.grades)
    columns = ["system", "k", "tasks", "pass@k", "pass@k over papers", "pass^k", "pass^k over papers"]
    rows = [
        [
            system,
            item.k,
            item.tasks,
            percent(item.pass_at_k.mean),
            span_of(item.pass_at_k),
            percent(item.pass_hat_k.mean),
            span_of(item.pass_hat_k),
        ]
        for system, of_system in found.items()
        for item in of_system
    ]
    table = sheet(
        "Chance that at least one of k answers passes (pass@k) and that all k pass (pass^k)",
        columns,
        rows,
        numbers=columns[1:],
        spare=["pass@k over papers", "pass^k over papers", "tasks"],
        name="attempts",
        note="Unbiased estimates from all graded answers, each followed by its 95% interval over papers. "
        "pass@k assumes that the user picks a correct answer among k, which is impossible without the check; "
        "pass^k measures reliability. "
        "The largest k is the smallest number of answers to a task.",
    )
    several = any(item.k > 1 for of_system in found.values() for item in of_system)
    return Measured({"attempts": found}, [table] if several else [])
