"""The built-in systems, which need no model and whose grades are known beforehand.

`golden` submits the reference, `mask` submits nothing, `rewrites` submits other correct implementations, and `wrong`
submits plausible mistakes. golden and rewrites must pass; mask and wrong must fail. `nearest` copies the most similar
function that it can see; its score is a finding.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Literal, get_args

from lmrbench.grading.nearest import nearest
from lmrbench.grading.records import Result
from lmrbench.source.syntax import decode
from lmrbench.tasks.model import Task
from lmrbench.tasks.submission import Submission
from lmrbench.tasks.workspace import answered_files, masked_files

BuiltIn = Literal["golden", "mask", "rewrites", "wrong", "nearest"]
BUILT_INS: tuple[BuiltIn, ...] = get_args(BuiltIn)
MUST_PASS: dict[str, bool] = {"golden": True, "rewrites": True, "mask": False, "wrong": False}


def submissions_of(system: BuiltIn, tasks: Sequence[Task]) -> Iterator[Submission]:
    """Yield the submissions of a built-in system."""
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


def unexpected(results: Sequence[Result], built_in: Collection[str]) -> list[str]:
    """Return a message for each unexpected result of a built-in system.

    Args:
        results: The results of a grading.
        built_in: The built-in systems that were graded; a submitted system may have the same name.
    """
    found = []
    for item in results:
        if item.system in built_in and MUST_PASS.get(item.system, item.passed) != item.passed:
            due, what = ("fail", "passed") if item.passed else ("pass", "failed")
            name = f"{item.system} {item.label}".strip()
            found.append(f"expected {name} to {due} on {item.task}, but it {what}")
    return found
