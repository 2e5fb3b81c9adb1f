"""How did each system do, over all and per category, and how sure is that? What did it cost?"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from lmrbench.grading.records import Grade, Usage
from lmrbench.tasks.model import Record

CONFIDENCE = 0.95


class Rate(Record):
    """The mean over tasks of the share of answers that passed, with its Wilson interval at 95%.

    The interval counts tasks: more answers to the same task make the rate steadier, but tell nothing of other tasks.
    cases: the mean share of cases that match.
    """

    tasks: int
    answers: int
    passed: float
    low: float
    high: float
    cases: float


class Cost(Record):
    """Of all answers of a system: tokens, dollars where prices are known, and seconds of wall time for one answer."""

    input_tokens: int
    output_tokens: int
    dollars: float | None
    seconds: float


def rate(grades: Iterable[Grade]) -> Rate:
    """The rate of one system over some tasks, at least one."""
    from statsmodels.stats.proportion import proportion_confint

    of_tasks: dict[str, list[Grade]] = {}
    for item in grades:
        of_tasks.setdefault(item.task, []).append(item)
    passed = _mean(_mean(float(item.passed) for item in items) for items in of_tasks.values())
    cases = _mean(_mean(_share(item) for item in items) for items in of_tasks.values())
    low, high = proportion_confint(passed * len(of_tasks), len(of_tasks), alpha=1 - CONFIDENCE, method="wilson")
    answers = sum(map(len, of_tasks.values()))
    return Rate(
        tasks=len(of_tasks), answers=answers, passed=passed, low=max(0.0, low), high=min(1.0, high), cases=cases
    )


def rates(grades: Iterable[Grade], key: Callable[[Grade], str]) -> dict[str, dict[str, Rate]]:
    """Rates by `key`, then by system, both in the order in which they first occur."""
    groups: dict[str, dict[str, list[Grade]]] = {}
    for item in grades:
        groups.setdefault(key(item), {}).setdefault(item.system, []).append(item)
    return {name: {system: rate(items) for system, items in systems.items()} for name, systems in groups.items()}


def costs(usages: Iterable[Usage]) -> Mapping[str, Cost]:
    """What each system cost."""
    of_systems: dict[str, list[Usage]] = {}
    for item in usages:
        of_systems.setdefault(item.system, []).append(item)
    return {
        system: Cost(
            input_tokens=sum(item.input_tokens for item in items),
            output_tokens=sum(item.output_tokens for item in items),
            dollars=_total(item.dollars for item in items),
            seconds=_mean(item.seconds for item in items),
        )
        for system, items in of_systems.items()
    }


def _total(dollars: Iterable[float | None]) -> float | None:
    known = [item for item in dollars if item is not None]
    return sum(known) if known else None


def _share(item: Grade) -> float:
    return sum(case.verdict == "match" for case in item.cases) / len(item.cases) if item.cases else 0.0


def _mean(values: Iterable[float]) -> float:
    items = list(values)
    return sum(items) / len(items)
