"""Is the check of a whole method, or of a twin, worth something?

What is measured of other tasks is measured here too, but for mutants of behaviour. Of a method nothing is graded that
documents and logged results leave open, so no constant has to be stated either; each mutant that its check rejects must
be decided by one of the two. A twin has the check of its original, whose certificate tells of behaviour.
"""

from __future__ import annotations

import time
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence

from lmrbench.authoring.audit.auditing import SEEDS_FOR_DEAR
from lmrbench.authoring.audit.certificate import AUDITOR, Certificate, CheckCost, GoldenRuns, Mutation, Survivor
from lmrbench.authoring.audit.cheats import cheats
from lmrbench.authoring.audit.knowledge import fixed_inputs, oracles, require_drawn_by_seed
from lmrbench.authoring.audit.laboratory import HASTY, PATIENT, Advance, Laboratory, Trial, worst
from lmrbench.authoring.audit.leaks import Missing, missing, worst_leak
from lmrbench.authoring.audit.mutants import Mutant, mutants
from lmrbench.authoring.audit.mutation import SEEDS_FOR_EQUIVALENTS, SEEDS_FOR_WRONG
from lmrbench.authoring.audit.visibility import visibility
from lmrbench.errors import SubmissionError, TaskError
from lmrbench.sandbox.protocol import WorkerPool
from lmrbench.tasks.collect import candidate_files
from lmrbench.tasks.digests import audit_digest
from lmrbench.tasks.loading import equivalents_file
from lmrbench.tasks.model import Task
from lmrbench.tasks.submission import Submission
from lmrbench.tasks.workspace import repository_files, unsolved_files


def audit_of_tier(
    task: Task, seeds: Sequence[int], pool: WorkerPool, advance: Advance = lambda *_: None
) -> Certificate:
    """Measure a whole method or a twin under these seeds.

    advance: called with a stage's name, what is done of it, and its total.

    Raises TaskError if the golden fails its own check, SandboxError if the machine can't run it.
    """
    laboratory = Laboratory(task, seeds, pool, advance)
    require_drawn_by_seed(laboratory)
    golden = repository_files(task)
    again = [
        Trial("golden", golden, seed, cases=laboratory.cases_under(number, SEEDS_FOR_DEAR))
        for number, seed in enumerate(seeds)
    ]
    runs = [result for _, result in laboratory.run("golden", again)]
    rewrites = laboratory.variants(
        "rewrites", _repositories(task, task.files.rewrites), seeds, must_pass=True, seeds_for_dear=SEEDS_FOR_DEAR
    )
    wrong = laboratory.variants("wrong versions", _repositories(task, task.files.wrong), seeds[:SEEDS_FOR_WRONG])
    tricks = {item.label: _repository(task, item) for item in cheats(task, known_seed=seeds[0] + 1)}
    mutation = _mutation(laboratory)
    first = laboratory.goldens[seeds[0]]
    return Certificate(
        task=task.id,
        digest=audit_digest(task),
        auditor=AUDITOR,
        seeds=len(seeds),
        sandbox=pool.sandbox.name,
        golden=GoldenRuns(
            runs=len(runs),
            cases=sum(len(result.margins) for result in runs),
            flakes=sum(len(result.rejected_by) for result in runs),
            worst_margin=worst(result.margin for result in runs),
            rounding_margin=None,
        ),
        mask_rejected=not laboratory.variants("mask", {"mask": unsolved_files(task)}, seeds[:1])[0].passed,
        rewrites=rewrites,
        wrong=wrong,
        cheats=laboratory.variants("cheats", tricks, seeds[:1], case_seconds=HASTY),
        mutation=mutation,
        behavioural=None,
        visible=visibility(task, mutation, pool, advance) if task.tier == "method" else None,
        leak=worst_leak(task),
        missing=Missing(literals=(), names=()) if task.tier == "method" else missing(task),
        proposed_tolerance_factor=None,
        cost=CheckCost(
            cases=len(first.names),
            seconds=round(first.seconds, 3),
            peak_mb=round(max(result.outcome.peak_mb for result in runs), 1),
            output_bytes=sum(map(len, first.observations)),
        ),
        oracles=oracles(laboratory),
        fixed_inputs=fixed_inputs(*(laboratory.goldens[seed] for seed in seeds[:2])) if len(seeds) > 1 else 0.0,
    )


def _repositories(task: Task, texts: Mapping[str, str]) -> dict[str, Mapping[str, bytes] | None]:
    return {
        name: _repository(task, Submission(system="audit", task=task.id, code=dict.fromkeys(task.goal_files, text)))
        for name, text in texts.items()
    }


def _repository(task: Task, submission: Submission) -> Mapping[str, bytes] | None:
    """The repository with a submission in place; None where it can't be put there."""
    try:
        return candidate_files(task, submission)[0]
    except SubmissionError:
        return None


def _mutation(laboratory: Laboratory) -> Mutation:
    """Try all mutants of one expression; the dear cases and further seeds are for what the cheap ones let pass.

    Declared equivalents meet the cheap cases under more seeds.
    """
    task, began = laboratory.task, time.perf_counter()
    declared, every = set(tomllib.loads(task.files.equivalents)), mutants(task)
    if unknown := declared - {mutant.id for mutant in every}:
        raise TaskError(f"{equivalents_file(task)}: there is no mutant {min(unknown)}")
    seeds, cheap, dear = laboratory.seeds, laboratory.cheap, laboratory.dear
    suspects = [mutant for mutant in every if mutant.id not in declared]
    left = _passing(laboratory, "mutants, cheap cases", suspects, [(seeds[0], cheap)], HASTY)
    left = _passing(laboratory, "mutants, dear cases", left, [(seeds[0], dear)], HASTY)
    left = _passing(laboratory, "mutants, more seeds", left, [(seed, None) for seed in seeds[1:SEEDS_FOR_WRONG]], HASTY)
    tried = time.perf_counter() - began
    equivalent = [mutant for mutant in every if mutant.id in declared]
    under = [*((seed, cheap) for seed in seeds[:SEEDS_FOR_EQUIVALENTS]), (seeds[0], dear)]
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
    """The mutants that no run rejects. under: seed and numbers of the cases of each run; None for all cases."""
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
