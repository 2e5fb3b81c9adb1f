"""How did each system do, per task and per category? Counts of what passed, and the seconds it took."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from lmrbench.grading.records import Grade
from lmrbench.tasks.model import Record


class Tally(Record):
    """How many of `total` submissions passed, and how long grading them took."""

    passed: int
    total: int
    seconds: float

    @property
    def rate(self) -> float:
        """The share that passed, between 0 and 1."""
        return self.passed / self.total


def tally(grades: Iterable[Grade]) -> Tally:
    """Count grades."""
    items = list(grades)
    return Tally(
        passed=sum(item.passed for item in items), total=len(items), seconds=sum(item.seconds for item in items)
    )


def tallies(grades: Iterable[Grade], key: Callable[[Grade], str]) -> dict[str, dict[str, Tally]]:
    """Tallies by `key`, then by system, both in the order in which they first occur."""
    groups: dict[str, dict[str, list[Grade]]] = {}
    for item in grades:
        groups.setdefault(key(item), {}).setdefault(item.system, []).append(item)
    return {name: {system: tally(items) for system, items in systems.items()} for name, systems in groups.items()}
