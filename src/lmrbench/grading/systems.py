"""The built-in systems, which need no model.

`golden` submits the reference, `mask` the unchanged masked files, `rewrites` other correct implementations, and `wrong`
plausible mistakes. A grade is robust if all cases match, and correct if all ordinary cases do. The reference and the
rewrites must be robust, except that the rewrite `plain` need only be correct. The masked files and the wrong versions
must not be correct, except that a wrong version that breaks only edge cases may be correct but must not be robust.
`nearest` copies the most similar function that a solver can see; it may get any grade.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Literal, get_args

from lmrbench.grading.nearest import nearest
from lmrbench.grading.records import Result, grade_word
from lmrbench.source.syntax import decode
from lmrbench.tasks.model import Task
from lmrbench.tasks.submission import Submission
from lmrbench.tasks.workspace import answered_files, masked_files
from lmrbench.tasks.wrong import breaks_only_edge_cases

BuiltIn = Literal["golden", "mask", "rewrites", "wrong", "nearest"]
# The name of the rewrite that follows the instruction with as little code as possible. It may ignore edge cases.
PLAIN = "plain"
BUILT_INS: tuple[BuiltIn, ...] = get_args(BuiltIn)


def submissions_of(system: BuiltIn, tasks: Sequence[Task]) -> Iterator[Submission]:
    """Yield the submissions of a built-in system to the given tasks."""
    for task in tasks:
        if system in ("golden", "mask"):
            files = answered_files(task) if system == "golden" else masked_files(task)
            code = {name: decode(files[name])[0] for name in task.goal_files}
            yield Submission(system=system, task=task.id, code=code)
        elif system == "nearest":
            yield nearest(task)
        else:
            variants = task.files.rewrites if system == "rewrites" else task.files.wrong
            for sample, (label, text) in enumerate(variants.items()):
                code = dict.fromkeys(task.goal_files, text)
                yield Submission(system=system, task=task.id, sample=sample, label=label, code=code)


def unexpected(results: Sequence[Result], built_in: Collection[str], tasks: Mapping[str, Task]) -> list[str]:
    """Return a message for each unexpected result of a built-in system.

    Args:
        results: The results to check.
        built_in: The names of the built-in systems that were graded. Results of other systems are not checked.
        tasks: The tasks, by id.
    """
    return [
        f"{item.task}: {item.system} {item.label}".rstrip()
        + f": {grade_word(item.correct, item.robust)}; expected {due}"
        for item in results
        if item.system in built_in and (due := _due(item, tasks[item.task]))
    ]


def _due(item: Result, task: Task) -> str:
    """Return the grade that a built-in system should have; "" if it has this grade, or if any grade is accepted."""
    if item.system == "rewrites" and item.label == PLAIN:
        return "" if item.correct else "correct"
    if item.system in ("golden", "rewrites"):
        return "" if item.robust else "correct and robust"
    if item.system == "wrong" and breaks_only_edge_cases(task.files.wrong[item.label]):
        return "not robust" if item.robust else ""
    return "not correct" if item.system in ("mask", "wrong") and item.correct else ""
