"""How much of a rate is memory? Each system on the twins of tasks, and on the tasks that they are twins of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from lmrbench.grading.records import Grade
from lmrbench.records import Record, grouped
from lmrbench.report.measures.comparison import Comparison, comparisons, corrected

ORIGINALS, TWINS = "originals", "twins"


class MemoryEffect(Record):
    """One system on the originals (first) and on their twins (second), by the tasks of which it answered both.

    A system that knows published code by heart and does not read has the larger rate on the originals.
    """

    system: str
    comparison: Comparison


def memory_effects(grades: Iterable[Grade], originals: Mapping[str, str]) -> list[MemoryEffect]:
    """For each system that answered both of some pair, with Holm's correction over systems.

    originals: the ids of tasks by those of their twins. The tests are those of `comparisons`: exact McNemar with one
    answer to each task.
    """
    found = []
    for system, items in grouped(grades, lambda item: item.system).items():
        answered = {item.task for item in items}
        pairs = {twin: task for twin, task in originals.items() if {twin, task} <= answered}
        both = [item.model_copy(update={"system": ORIGINALS}) for item in items if item.task in pairs.values()]
        both += [
            item.model_copy(update={"system": TWINS, "task": pairs[item.task]}) for item in items if item.task in pairs
        ]
        if both:
            found.append((system, comparisons(both)[0]))
    fixed = corrected([comparison for _, comparison in found])
    return [MemoryEffect(system=system, comparison=item) for (system, _), item in zip(found, fixed, strict=True)]
