"""Fuzzing: search for inputs, other than a check's own cases, that distinguish a variant of the code from the golden.

The golden is the reference implementation. It and the variant run on *widened* cases, which are variations of the
check's cases (`inside.widening`). A case counts only if the golden returns finite values, and a run in double precision
does not contradict them; otherwise the correct result is unknown. If no such case distinguishes a variant from the
golden, the variant is taken to have no visible effect.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from lmrbench.authoring.audit.behaviours import PLACE, decorator, inside_files, with_decorator
from lmrbench.authoring.audit.laboratory import Laboratory
from lmrbench.grading.compare import compare
from lmrbench.grading.draw import drawn_cases
from lmrbench.sandbox.inside.encoding import Array, decode
from lmrbench.sandbox.protocol import Cases, Job, Outcome
from lmrbench.tasks.bounds import Bounds, Tolerance
from lmrbench.tasks.workspace import repository_files

# A seed that is not used for grading or for the rest of the audit.
SEED = 20_260_229
_MOST_CASES, _FEWEST_CASES = 200, 40
# The time that the golden may take for all widened cases, in seconds. It limits their number.
_SECONDS = 2.0
# Tolerances are multiplied by this factor except in double precision, because rounding errors grow with magnitude.
_FACTOR = 100.0
_HALF = Tolerance(rtol=0.3, atol=0.3)
_WIDENED = """
from {place}.widening import widened as _widened

def widened_cases(seed):
    every = sorted(cases(seed), key=lambda case: isinstance(case, dict) and bool(case.get("edge")))
    return _widened([every[number] for number in {numbers} if number < len(every)], seed, {most})
"""


def told_apart(
    laboratory: Laboratory, variants: Mapping[str, Mapping[str, bytes]], owner: str = "audit"
) -> dict[str, str]:
    """Find widened cases in which variants differ from the golden.

    Args:
        laboratory: The laboratory that runs the task's check.
        variants: The files of the repository with each variant, by the variant's name.
        owner: The owner of the variants' code. Workers are shared only between jobs of the same owner.

    Returns:
        For each variant that differs, by its name: a text with the first such case and the difference.
    """
    if not variants:
        return {}
    golden = {**repository_files(laboratory.task), **inside_files()}
    precise = dict(golden)
    for target in laboratory.task.targets:
        double = decorator("wrappers", "computed_in", "float64", True)
        precise[target.file] = with_decorator(precise[target.file], target, double)
    cases = _widened_cases(laboratory, golden)
    jobs = [_job(laboratory, files, cases, "audit") for files in (golden, precise)]
    jobs += [_job(laboratory, {**inside_files(), **files}, cases, owner) for files in variants.values()]
    outcomes: dict[int, Outcome] = dict(laboratory.observe("widened cases", jobs))
    sound = _sound_cases(laboratory, cases.names, outcomes[0], outcomes[1])
    found = {}
    for number, name in enumerate(variants, start=2):
        if difference := _first_difference(laboratory, sound, outcomes[number]):
            found[name] = difference
    return found


def _widened_cases(laboratory: Laboratory, files: Mapping[str, bytes]) -> Cases:
    golden = laboratory.goldens[laboratory.seeds[0]]
    numbers = laboratory.cheap or tuple(range(len(golden.names)))
    mean = sum(golden.case_seconds[number] for number in numbers) / len(numbers)
    most = max(_FEWEST_CASES, min(_MOST_CASES, int(_SECONDS / max(mean, 1e-4))))
    task = laboratory.task
    check = task.files.check + _WIDENED.format(place=PLACE, numbers=list(numbers), most=most)
    widened = task.model_copy(update={"files": replace(task.files, check=check, repository=files)})
    return drawn_cases([(widened, SEED)], laboratory.pool, "widened_cases")[task.id, SEED]


def _job(laboratory: Laboratory, files: Mapping[str, bytes], cases: Cases, owner: str) -> Job:
    return replace(laboratory.job(files, SEED, cases, owner), check_seconds=20 * _SECONDS)


def _sound_cases(
    laboratory: Laboratory, names: Sequence[str], golden: Outcome, precise: Outcome
) -> dict[int, tuple[str, Any]]:
    """Return the name and the golden's observation of each case in which the golden is reliable, by case number."""
    sound = {}
    for number, (name, case) in enumerate(zip(names, golden.cases, strict=True)):
        if case.status != "observed" or not _finite(expected := decode(case.payload)):
            continue
        other = precise.cases[number] if number < len(precise.cases) else None
        if other is None or other.status != "observed" or not _differs(laboratory, name, expected, other.payload, 10):
            sound[number] = (name, expected)
    return sound


def _first_difference(laboratory: Laboratory, sound: Mapping[int, tuple[str, Any]], outcome: Outcome) -> str:
    for number, (name, expected) in sound.items():
        case = outcome.cases[number] if number < len(outcome.cases) else None
        if case is None or case.status != "observed":
            lines = (case.message if case else outcome.broken or "missing").strip().splitlines() or ["died"]
            return f"{name}: {lines[-1][:200]}"
        factor = 1 if name.endswith("float64") else _FACTOR
        if difference := _differs(laboratory, name, expected, case.payload, factor):
            return f"{name}: {difference}"
    return ""


def _differs(laboratory: Laboratory, name: str, expected: Any, payload: bytes, factor: float) -> str | None:
    bounds = laboratory.task.bounds
    if name.endswith(("in float16", "in bfloat16")):
        wide = Bounds(_HALF, similarities=bounds.similarities)
    else:
        wide = bounds.with_tolerances_scaled(factor)
    return compare(expected, decode(payload), wide)


def _finite(value: Any) -> bool:
    if isinstance(value, Array):
        return value.values.dtype.kind not in "fc" or bool(np.isfinite(value.values).all())
    if isinstance(value, float):
        return bool(np.isfinite(value))
    if isinstance(value, dict):
        return all(map(_finite, value.values()))
    return all(map(_finite, value)) if isinstance(value, list) else True
