"""The audit of tasks of the method and twin tiers.

It makes the same measurements as the audit of the function tier, but it runs no behavioural mutants (generated
mistakes that matter only for some inputs), does not measure rounding errors, and proposes no tolerance.

A method task masks all functions that implement a method, and gives solvers the logged results of an experiment. The
check must not require anything that these results and the texts for solvers leave open: each expression mutant (a
mistake in one expression) that it rejects must change the results or violate a sentence of the texts. The texts need
not state constants, because the results determine them.

A twin is a task made from an altered paper. It has the same check as its original, the task on the unaltered paper. The
original's certificate covers behavioural mutants.
"""

from __future__ import annotations

from collections.abc import Sequence

from lmrbench.authoring.audit.auditing import (
    SEEDS_FOR_COSTLY,
    check_cost,
    golden_runs,
    tried_cheats,
    tried_rewrites,
    tried_wrong_versions,
)
from lmrbench.authoring.audit.certificate import AUDITOR, Certificate
from lmrbench.authoring.audit.knowledge import fixed_inputs, oracles, require_drawn_by_seed
from lmrbench.authoring.audit.laboratory import Laboratory, Trial
from lmrbench.authoring.audit.leaks import Missing, missing, worst_leak
from lmrbench.authoring.audit.mutation import expression_mutation
from lmrbench.authoring.audit.visibility import visibility
from lmrbench.progress import Advance
from lmrbench.sandbox.protocol import WorkerPool
from lmrbench.tasks.digests import audit_digest
from lmrbench.tasks.model import Task
from lmrbench.tasks.workspace import repository_files, unsolved_files


def audit_of_tier(
    task: Task, seeds: Sequence[int], pool: WorkerPool, advance: Advance = lambda *_: None
) -> Certificate:
    """Audit a task of the method or twin tier, and return its certificate.

    Args:
        task: The task to audit.
        seeds: The seeds to draw cases with.
        pool: The workers that run the jobs.
        advance: Called with the name of a stage, the number of its finished jobs, and the number of all its jobs.

    Raises:
        TaskError: The golden fails its own check.
        SandboxError: The sandbox can't run the check on this machine.
    """
    laboratory = Laboratory(task, seeds, pool, advance)
    require_drawn_by_seed(laboratory)
    golden = repository_files(task)
    again = [
        Trial("golden", golden, seed, cases=laboratory.cases_under(number, SEEDS_FOR_COSTLY))
        for number, seed in enumerate(seeds)
    ]
    runs = [result for _, result in laboratory.run("golden", again)]
    rewrites = tried_rewrites(laboratory)
    wrong = tried_wrong_versions(laboratory, "rejected")
    mutation = expression_mutation(laboratory)
    return Certificate(
        task=task.id,
        digest=audit_digest(task),
        auditor=AUDITOR,
        seeds=len(seeds),
        sandbox=pool.sandbox.name,
        golden=golden_runs(runs, None),
        mask_rejected=not laboratory.variants("mask", {"mask": unsolved_files(task)}, seeds[:1])[0].correct,
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
