"""What do several answers to the same task say: is one of k right, and are all k right?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import comb

from lmrbench.grading.records import Grade
from lmrbench.records import Record, grouped
from lmrbench.report.statistics import Estimate, estimate

# Of more answers than these, the largest number of them is shown too.
STEPS = (1, 2, 5, 10, 20, 50, 100)


class Attempts(Record):
    """Of k answers to a task, over the tasks that have an answer.

    pass_at_k: how likely at least one of k passes. pass_hat_k: how likely all k pass, which is written pass^k.
    """

    k: int
    tasks: int
    pass_at_k: Estimate
    pass_hat_k: Estimate


def pass_at_k(answers: int, passes: int, k: int) -> float:
    """1 - C(n-c, k) / C(n, k): the unbiased estimate that at least one of k answers passes.

    Chen et al., Evaluating Large Language Models Trained on Code, 2021, section 2.1. answers: n. passes: c. Raises
    ValueError unless 1 <= k <= n and 0 <= c <= n.
    """
    _check(answers, passes, k)
    return 1 - comb(answers - passes, k) / comb(answers, k)


def pass_hat_k(answers: int, passes: int, k: int) -> float:
    """C(c, k) / C(n, k): the unbiased estimate that all of k answers pass.

    Yao et al., tau-bench, 2024, section 3. answers: n. passes: c. Raises ValueError as `pass_at_k` does.
    """
    _check(answers, passes, k)
    return comb(passes, k) / comb(answers, k)


def attempts(grades: Iterable[Grade]) -> dict[str, list[Attempts]]:
    """By system, for 1, 2, 5, 10, ... up to the least number of answers that one of its tasks has, and that number.

    Samples that the machinery left unanswered have no grade, and are no answers; a task without any answer is left out.
    """
    found = {}
    for system, items in grouped(grades, lambda item: item.system).items():
        of_tasks = grouped(items, lambda item: item.task)
        counts = {task: (len(of_task), sum(item.passed for item in of_task)) for task, of_task in of_tasks.items()}
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
        raise ValueError(f"{passes} of {answers} answers pass, and k is {k}")
