"""Mutation testing of a check: count how many generated mistakes (mutants) in the reference (the golden) it rejects.

Expression mutants, which have a mistake in one expression, come from `source.expressions`. Behavioural mutants, which
are wrong only for some inputs or in some states, come from `behaviours` and `numerics`. Ordinary cases run first, and
only mutants that survive all cases run under further seeds. A surviving behavioural mutant counts only if it is
certainly wrong, or if a widened case (see `fuzzing`) distinguishes it from the golden.
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
    """Run all mutants of a task against its check.

    Returns:
        The results for expression mutants, and those for behavioural mutants.

    Raises:
        TaskError: The task's list of equivalent mutants is invalid.
    """
    behaviours, certain = _behavioural(laboratory)
    trials = _Trials(laboratory, "behavioural mutants", inside_files(), "rejected and observed")
    declared = _declared_equivalent(laboratory.task, behaviours)
    return expression_mutation(laboratory, behaviours), trials.mutation(behaviours, declared, certain)


def expression_mutation(laboratory: Laboratory, others: Sequence[Mutant] = ()) -> Mutation:
    """Run all expression mutants of a task against its check, and return the results.

    Args:
        laboratory: The laboratory that runs the task's check.
        others: Mutants of other kinds that the task's list of equivalent mutants may also contain.

    Raises:
        TaskError: The task's list of equivalent mutants is invalid.
    """
    every = mutants(laboratory.task)
    declared = _declared_equivalent(laboratory.task, others)
    return _Trials(laboratory, "mutants", {}, "rejected").mutation(every, declared, None)


def _behavioural(laboratory: Laboratory) -> tuple[tuple[Mutant, ...], frozenset[str]]:
    """Return all behavioural mutants, and the ids of those that are certainly wrong."""
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
    """Return the first calls of each target, recorded while the golden is observed."""
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
    """Runs the mutants of one kind in the laboratory, with the additional files that they import (`beside`)."""

    def __init__(self, laboratory: Laboratory, kind: str, beside: Mapping[str, bytes], until: Until) -> None:
        self.laboratory = laboratory
        self.kind = kind
        self.until = until
        self.golden = {**repository_files(laboratory.task), **beside}
        self.by_ordinary: set[str] = set()
        # Mutants that fail in every case. Any check rejects them, so behavioural mutants among them do not count.
        self.stillborn: set[str] = set()

    def mutation(self, every: Sequence[Mutant], declared: set[str], certain: frozenset[str] | None) -> Mutation:
        """Run mutants, and return the results.

        Args:
            every: The mutants.
            declared: The ids of the mutants that the author declares equivalent.
            certain: The ids of the mutants that count even if no input shows a difference; None if all count.
        """
        seeds = self.laboratory.seeds
        suspects = [mutant for mutant in every if mutant.id not in declared]
        began = time.perf_counter()
        left = self._survivors("first seed", suspects, seeds[:1])
        tried = time.perf_counter() - began
        suspects = [mutant for mutant in suspects if certain is None or mutant.id not in self.stillborn]
        differences: dict[str, str] = {}
        if certain is not None:
            unsure = [mutant for mutant in left if mutant.id not in certain]
            differences = told_apart(self.laboratory, {mutant.id: self._files(mutant) for mutant in unsure})
        equal = [mutant.id for mutant in left if certain is not None and mutant.id not in {*certain, *differences}]
        left = [mutant for mutant in left if mutant.id not in equal]
        left = self._survivors("more seeds", left, seeds[1:SEEDS_FOR_WRONG])
        equivalent = [mutant for mutant in every if mutant.id in declared]
        truly = self._survivors("declared equivalents", equivalent, seeds[:SEEDS_FOR_EQUIVALENTS], PATIENT)
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
            by_ordinary=sum(mutant.id in self.by_ordinary for mutant in counted),
        )

    def _files(self, mutant: Mutant) -> Mapping[str, bytes]:
        return {**self.golden, mutant.target.file: mutant.file}

    def _survivors(
        self,
        stage: str,
        suspects: Sequence[Mutant],
        seeds: Sequence[int],
        case_seconds: float = HASTY,
    ) -> list[Mutant]:
        orders = {seed: self.laboratory.by_cost(seed) for seed in seeds}
        trials = [
            Trial(mutant.id, self._files(mutant), seed, cases=order, case_seconds=case_seconds, until=self.until)
            for mutant in suspects
            for seed, order in orders.items()
        ]
        rejected = set()
        for trial, result in self.laboratory.run(f"{self.kind}, {stage}", trials):
            if result.rejected_by:
                rejected.add(trial.name)
            if not result.correct:
                self.by_ordinary.add(trial.name)
            if not any(case.status == "observed" for case in result.outcome.cases):
                self.stillborn.add(trial.name)
        return [mutant for mutant in suspects if mutant.id not in rejected]


def _declared_equivalent(task: Task, behaviours: Sequence[Mutant]) -> set[str]:
    """Return the ids of the mutants that the task's author declares equivalent, each with a reason."""
    file = equivalents_file(task)
    try:
        table = tomllib.loads(task.files.equivalents)
    except tomllib.TOMLDecodeError as error:
        raise TaskError(f"{file}: {error}") from error
    for name, reason in table.items():
        if not isinstance(reason, str) or not reason.strip():
            raise TaskError(f"{file}: {name}: a reason is needed; write it as a string")
    if unknown := table.keys() - {mutant.id for mutant in (*mutants(task), *behaviours)}:
        raise TaskError(f"{file}: there is no mutant {min(unknown)}")
    return set(table)
