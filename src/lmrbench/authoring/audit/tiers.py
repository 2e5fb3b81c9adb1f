"""The audit of the method and twin tiers.

It measures the same as that of the function tier, except for mutants of behaviour. The check of a method grades nothing
that documents and logged results leave open: each mutant that it rejects must be decided by one of these, and constants
need not be stated. A twin has the check of its original, whose certificate covers behaviour.
"""

from __future__ import annotations

import time
import tomllib
from collections import Counter
from collections.abc import Sequence

from lmrbench.authoring.audit.auditing import SEEDS_FOR_COSTLY, check_cost, golden_runs, tried_cheats, variant_files
from lmrbench.authoring.audit.certificate import AUDITOR, Certificate, Mutation, Survivor
from lmrbench.authoring.audit.knowledge import fixed_inputs, oracles, require_drawn_by_seed
from lmrbench.authoring.audit.laboratory import HASTY, PATIENT, Advance, Laboratory, Trial
from lmrbench.authoring.audit.leaks import Missing, missing, worst_leak
from lmrbench.authoring.audit.mutants import Mutant, mutants
from lmrbench.authoring.audit.mutation import SEEDS_FOR_EQUIVALENTS, SEEDS_FOR_WRONG
from lmrbench.authoring.audit.visibility import visibility
from lmrbench.errors import TaskError
from lmrbench.sandbox.protocol import WorkerPool
from lmrbench.tasks.digests import audit_digest
from lmrbench.tasks.loading import equivalents_file
from lmrbench.tasks.model import Task
from lmrbench.tasks.workspace import repository_files, unsolved_files


def audit_of_tier(
    task: Task, seeds: Sequence[int], pool: WorkerPool, advance: Advance = lambda *_: None
) -> Certificate:
    """Measure a task of the method or twin tier.

    Args:
        task: The task.
        seeds: The seeds to draw cases with.
        pool: The workers to run in.
        advance: Called with the name of a stage, the number of its finished jobs, and their total.

    Raises:
        TaskError: The golden fails its own check.
        SandboxError: The machine cannot run it.
    """
    laboratory = Laboratory(task, seeds, pool, advance)
    require_drawn_by_seed(laboratory)
    golden = repository_files(task)
    again = [
        Trial("golden", golden, seed, cases=laboratory.cases_under(number, SEEDS_FOR_COSTLY))
        for number, seed in enumerate(seeds)
    ]
    runs = [result for _, result in laboratory.run("golden", again)]
    rewrites = laboratory.variants(
        "rewrites", variant_files(task, task.files.rewrites), seeds, must_pass=True, seeds_for_costly=SEEDS_FOR_COSTLY
    )
    wrong = laboratory.variants("wrong versions", variant_files(task, task.files.wrong), seeds[:SEEDS_FOR_WRONG])
    mutation = _mutation(laboratory)
    return Certificate(
        task=task.id,
        digest=audit_digest(task),
        auditor=AUDITOR,
        seeds=len(seeds),
        sandbox=pool.sandbox.name,
        golden=golden_runs(runs, None),
        mask_rejected=not laboratory.variants("mask", {"mask": unsolved_files(task)}, seeds[:1])[0].passed,
        rewrites=rewrites,
        wrong=wrong,
        cheats=tried_cheats(laboratory),
        mutation=mutation,
        behavioural=None,
        visible=visibility(task, mutation, pool, advance) if task.tier == "method" else None,
        leak=worst_leak(task),
        missing=Missing(literals=(), names=()) if task.tier == "method" else missing(task),
        proposed_tolerance_factor=None,
        cost=check_cost(laboratory, runs),
        oracles=oracles(laboratory),
        fixed_inputs=fixed_inputs(laboratory),
    )


def _mutation(laboratory: Laboratory) -> Mutation:
    """Try all mutants of one expression.

    Only mutants that survive the cheap cases run the costly ones and further seeds. Declared equivalents run the
    cheap cases under more seeds.
    """
    task, began = laboratory.task, time.perf_counter()
    declared, every = set(tomllib.loads(task.files.equivalents)), mutants(task)
    if unknown := declared - {mutant.id for mutant in every}:
        raise TaskError(f"{equivalents_file(task)}: there is no mutant {min(unknown)}")
    seeds, cheap, costly = laboratory.seeds, laboratory.cheap, laboratory.costly
    suspects = [mutant for mutant in every if mutant.id not in declared]
    left = _passing(laboratory, "mutants, cheap cases", suspects, [(seeds[0], cheap)], HASTY)
    left = _passing(laboratory, "mutants, costly cases", left, [(seeds[0], costly)], HASTY)
    left = _passing(laboratory, "mutants, more seeds", left, [(seed, None) for seed in seeds[1:SEEDS_FOR_WRONG]], HASTY)
    tried = time.perf_counter() - began
    equivalent = [mutant for mutant in every if mutant.id in declared]
    under = [*((seed, cheap) for seed in seeds[:SEEDS_FOR_EQUIVALENTS]), (seeds[0], costly)]
    truly = _passing(laboratory, "declared equivalents", equivalent, under, PATIENT)
    return Mutation(
        mutants=len(suspects),
        rejected=len(suspects) - len(left),
        operators=dict(sorted(Counter(mutant.operator for mutant in suspects).items())),
        indistinguishable=0,
        equivalent=len(equivalent),
        refuted=tuple(mutant.id for mutant in equivalent if mutant not in truly),
        survivors=tuple(Survivor(id=item.id, operator=item.operator, diff=item.diff) for item in left),
        per_second=round(len(suspects) / tried, 1),
    )


def _passing(
    laboratory: Laboratory,
    stage: str,
    suspects: Sequence[Mutant],
    under: Sequence[tuple[int, tuple[int, ...] | None]],
    case_seconds: float,
) -> list[Mutant]:
    """Return the mutants that no run rejects.

    Args:
        laboratory: The laboratory of the task.
        stage: The name of the stage.
        suspects: The mutants.
        under: The seed of each run, and the numbers of its cases, or None for all cases.
        case_seconds: The time limit of each case.
    """
    golden = repository_files(laboratory.task)
    trials = [
        Trial(
            mutant.id,
            {**golden, mutant.target.file: mutant.file},
            seed,
            cases=cases,
            case_seconds=case_seconds,
        )
        for mutant in suspects
        for seed, cases in under
        if cases != ()
    ]
    rejected = {trial.name for trial, result in laboratory.run(stage, trials) if result.rejected_by}
    return [mutant for mutant in suspects if mutant.id not in rejected]
