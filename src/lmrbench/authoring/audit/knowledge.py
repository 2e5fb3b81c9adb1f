"""Find weaknesses of a check that give results away: oracles and fixed inputs.

An *oracle* is a variable of the check that contains a target's result, or a function of the check that computes it
without the target. A submission could read or call it while `observe` runs. *Fixed inputs* are cases that have the same
observation under another seed, and cases that an empty answer passes (see `grading.given`). A solver that has seen one
grading can answer fixed inputs from a table.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from lmrbench.authoring.audit.behaviours import PLACE, inside_files
from lmrbench.authoring.audit.laboratory import Laboratory
from lmrbench.errors import TaskError
from lmrbench.grading.compare import compare
from lmrbench.grading.draw import drawn_cases
from lmrbench.sandbox.inside.encoding import decode
from lmrbench.tasks.workspace import repository_files

# The largest share of fixed inputs that a check should have.
MOST_FIXED = 1 / 3
# A name is an oracle if its value is a result of the target in at least this many cases, and in at least this share of
# the cases in which the name occurs.
_FEWEST_CASES, _SHARE = 3, 0.9
_WATCHED = """
from {place}.oracles import watched as _watched
_observe_unwatched = observe
def observe(case):
    return _watched(_observe_unwatched, case, {targets})
"""


def require_drawn_by_seed(laboratory: Laboratory) -> None:
    """Draw the cases of the first seed again, and require that they are the same as before.

    Raises:
        TaskError: The cases differ.
    """
    task, seed = laboratory.task, laboratory.seeds[0]
    again = drawn_cases([(task, seed)], laboratory.pool)[task.id, seed]
    if again != laboratory.goldens[seed].drawn:
        raise TaskError(f"{task.id}: the check draws different cases under the same seed ({seed}); use only the seed")


def fixed_inputs(laboratory: Laboratory) -> float:
    """Return the share of the first seed's cases that are fixed inputs; 0 if there is only one seed.

    A case is fixed if an empty answer passes it, or if its observation also occurs under the second seed.
    """
    if len(laboratory.seeds) < 2:
        return 0.0
    first, second = (laboratory.goldens[seed] for seed in laboratory.seeds[:2])
    elsewhere = set(second.observations)
    fixed = [
        given or observation in elsewhere for observation, given in zip(first.observations, first.given, strict=True)
    ]
    return round(sum(fixed) / len(fixed), 3)


def oracles(laboratory: Laboratory) -> tuple[str, ...]:
    """Return the names of a check's variables that contain the targets' results, and of its functions that return them.

    Functions that call a target do not count, nor do variables that are set after the call.
    """
    task = laboratory.task
    targets = [(target.file, target.qualname) for target in task.targets]
    job = replace(
        laboratory.job({**repository_files(task), **inside_files()}, laboratory.seeds[0]),
        observe=laboratory.observing + _WATCHED.format(place=PLACE, targets=targets),
    )
    [(_, outcome)] = laboratory.observe("oracles", [job])
    # For each name and each case in which the name occurs and a target returns: whether the name's value is a result of
    # the target.
    found: dict[str, list[bool]] = defaultdict(list)
    for case in outcome.cases:
        if case.status == "observed":
            seen = decode(case.payload)
            for name, values in _by_name(seen["known"]).items():
                if results := [decode(item) for item in seen["results"]]:
                    found[name].append(any(_same(laboratory, item, value) for item in results for value in values))
    return tuple(
        sorted(name for name, hits in found.items() if sum(hits) >= _FEWEST_CASES and sum(hits) >= _SHARE * len(hits))
    )


def _by_name(known: Sequence[Any]) -> dict[str, list[Any]]:
    values: dict[str, list[Any]] = defaultdict(list)
    for name, value in known:
        values[name].append(decode(value))
    return values


def _same(laboratory: Laboratory, result: Any, value: Any) -> bool:
    return not isinstance(result, bool | None) and compare(result, value, laboratory.task.bounds) is None
