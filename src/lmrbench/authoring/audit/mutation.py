"""Mutation testing of a check: how many mutants of one expression and of behaviour it rejects.

The cheap cases of a check run first; only mutants that survive them run the costly cases and further seeds. Of the
surviving mutants of behaviour, those that no widened case distinguishes from the golden do not count.
"""

from __future__ import annotations

import time
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from lmrbench.authoring.audit.behaviours import (
    PLACE,
    behavioural_mutants,
    decorator,
    inside_files,
    with_decorator,
)
from lmrbench.authoring.audit.certificate import Mutation, Survivor
from lmrbench.authoring.audit.fuzzing import told_apart
from lmrbench.authoring.audit.laboratory import HASTY, PATIENT, Laboratory, Trial, Until
from lmrbench.authoring.audit.mutants import Mutant, mutants
from lmrbench.authoring.audit.numerics import NUMERICS
from lmrbench.authoring.audit.subjects import RecordedCall, slot_names
from lmrbench.errors import TaskError
from lmrbench.sandbox.inside.encoding import decode
from lmrbench.tasks.loading import equivalents_file
from lmrbench.tasks.model import Task
from lmrbench.tasks.workspace import repository_files

SEEDS_FOR_WRONG = 3
SEEDS_FOR_EQUIVALENTS = 10
_RECORDED = """
from {place}.recordings import drained as _drained
_observe = observe
def observe(case):
    _observe(case)
    return _drained()
"""


def mutations(laboratory: Laboratory) -> tuple[Mutation, Mutation]:
    """Try all mutants of a task.

    Returns:
        The results for mutants of one expression, and for mutants of behaviour.

    Raises:
        TaskError: The task's list of equivalent mutants is invalid.
    """
    task = laboratory.task
    declared = _declared_equivalent(task)
    expressions = mutants(task)
    behaviours, certain = _behavioural(laboratory)
    if unknown := declared - {mutant.id for mutant in (*expressions, *behaviours)}:
        raise TaskError(f"{equivalents_file(task)}: there is no mutant {min(unknown)}")
    return (
        _Trials(laboratory, "mutants", {}, "rejected").mutation(expressions, declared, None),
        _Trials(laboratory, "behaviours", inside_files(), "rejected and observed").mutation(
            behaviours, declared, certain
        ),
    )


def _behavioural(laboratory: Laboratory) -> tuple[tuple[Mutant, ...], frozenset[str]]:
    """Return all mutants of behaviour, and the ids of those that are certainly wrong."""
    calls = _recorded(laboratory)
    files = repository_files(laboratory.task)
    found = {mutant.id: mutant for mutant in mutants(laboratory.task, NUMERICS)}
    certain = set()
    for target in laboratory.task.targets:
        for mutant, is_certain in behavioural_mutants(files[target.file], target, calls.get(str(target), ())):
            found.setdefault(mutant.id, mutant)
            if is_certain:
                certain.add(mutant.id)
    return tuple(found.values()), frozenset(certain)


def _recorded(laboratory: Laboratory) -> Mapping[str, Sequence[RecordedCall]]:
    """Return the first calls of each target while the golden is observed."""
    task, seed = laboratory.task, laboratory.seeds[0]
    files = {**repository_files(task), **inside_files()}
    for target in task.targets:
        text = decorator("recordings", "recorded", str(target), slot_names(files[target.file], target))
        files[target.file] = with_decorator(files[target.file], target, text)
    job = replace(
        laboratory.job(files, seed),
        observe=laboratory.observing + _RECORDED.format(place=PLACE),
        numbers=laboratory.cheap or laboratory.costly,
    )
    [(_, outcome)] = laboratory.observe("recording", [job])
    calls: dict[str, list[RecordedCall]] = {str(target): [] for target in task.targets}
    for case in outcome.cases:
        for call in decode(case.payload) if case.status == "observed" else ():
            calls[call.pop("target")].append(RecordedCall.model_validate(call))
    return calls


class _Trials:
    """Mutants of one kind in the laboratory, with the additional files that they import."""

    def __init__(self, laboratory: Laboratory, kind: str, beside: Mapping[str, bytes], until: Until) -> None:
        self.laboratory = laboratory
        self.kind = kind
        self.until = until
        self.golden = {**repository_files(laboratory.task), **beside}
        # Mutants that fail in every case, which every check rejects.
        self.stillborn: set[str] = set()

    def mutation(self, every: Sequence[Mutant], declared: set[str], certain: frozenset[str] | None) -> Mutation:
        """Try mutants.

        Args:
            every: The mutants.
            declared: The ids of those that the author declares equivalent.
            certain: The ids of those that count even if no input shows a difference; None if all count.
        """
        seeds, cheap, costly = self.laboratory.seeds, self.laboratory.cheap, self.laboratory.costly
        suspects = [mutant for mutant in every if mutant.id not in declared]
        began = time.perf_counter()
        left = self._survivors("cheap cases", suspects, seeds[:1], cheap) if cheap else list(suspects)
        suspects = [mutant for mutant in suspects if certain is None or mutant.id not in self.stillborn]
        tried = time.perf_counter() - began
        differences: dict[str, str] = {}
        if certain is not None:
            unsure = [mutant for mutant in left if mutant.id not in certain]
            differences = told_apart(self.laboratory, {mutant.id: self._files(mutant) for mutant in unsure})
        equal = [mutant.id for mutant in left if certain is not None and mutant.id not in {*certain, *differences}]
        left = [mutant for mutant in left if mutant.id not in equal]
        began = time.perf_counter()
        if costly:
            left = self._survivors("costly cases", left, seeds[:1], costly)
        tried += time.perf_counter() - began
        left = self._survivors("more seeds", left, seeds[1:SEEDS_FOR_WRONG], None)
        equivalent = [mutant for mutant in every if mutant.id in declared]
        truly = self._survivors(
            "declared equivalents", equivalent, seeds[:SEEDS_FOR_EQUIVALENTS], cheap or None, PATIENT
        )
        if cheap and costly:
            truly = self._survivors("declared equivalents, costly cases", truly, seeds[:1], costly, PATIENT)
        counted = [mutant for mutant in suspects if mutant.id not in equal]
        return Mutation(
            mutants=len(counted),
            rejected=len(counted) - len(left),
            operators=dict(sorted(Counter(mutant.operator for mutant in counted).items())),
            indistinguishable=len(equal),
            equivalent=len(equivalent),
            refuted=tuple(mutant.id for mutant in equivalent if mutant not in truly),
            survivors=tuple(
                Survivor(id=item.id, operator=item.operator, diff=item.diff, told_apart_by=differences.get(item.id, ""))
                for item in left
            ),
            per_second=round(len(suspects) / tried, 1) if tried else 0.0,
        )

    def _files(self, mutant: Mutant) -> Mapping[str, bytes]:
        return {**self.golden, mutant.target.file: mutant.file}

    def _survivors(
        self,
        stage: str,
        suspects: Sequence[Mutant],
        seeds: Sequence[int],
        cases: tuple[int, ...] | None,
        case_seconds: float = HASTY,
    ) -> list[Mutant]:
        trials = [
            Trial(mutant.id, self._files(mutant), seed, cases=cases, case_seconds=case_seconds, until=self.until)
            for mutant in suspects
            for seed in seeds
        ]
        rejected = set()
        for trial, result in self.laboratory.run(f"{self.kind}, {stage}", trials):
            if result.rejected_by:
                rejected.add(trial.name)
            if not any(case.status == "observed" for case in result.outcome.cases):
                self.stillborn.add(trial.name)
        return [mutant for mutant in suspects if mutant.id not in rejected]


def _declared_equivalent(task: Task) -> set[str]:
    """Return the ids of the mutants that the task's author declares equivalent, each with a reason."""
    file = equivalents_file(task)
    try:
        table = tomllib.loads(task.files.equivalents)
    except tomllib.TOMLDecodeError as error:
        raise TaskError(f"{file}: {error}") from error
    for name, reason in table.items():
        if not isinstance(reason, str) or not reason.strip():
            raise TaskError(f"{file}: {name}: a reason is needed; write it as a string")
    return set(table)
