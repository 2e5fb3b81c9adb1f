"""Is a task's check worth something: does it pass what is right, always, and reject what is wrong?"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from lmrbench.authoring.audit.certificate import AUDITOR, Certificate, CheckCost, GoldenRuns
from lmrbench.authoring.audit.cheats import cheats
from lmrbench.authoring.audit.knowledge import fixed_inputs, oracles, require_drawn_by_seed
from lmrbench.authoring.audit.laboratory import HASTY, Advance, Laboratory, Trial, least, worst
from lmrbench.authoring.audit.leaks import missing, worst_leak
from lmrbench.authoring.audit.mutation import SEEDS_FOR_WRONG, mutations
from lmrbench.errors import SubmissionError
from lmrbench.sandbox.protocol import WorkerPool
from lmrbench.tasks.collect import candidate_files
from lmrbench.tasks.digests import audit_digest
from lmrbench.tasks.model import Task
from lmrbench.tasks.submission import Submission
from lmrbench.tasks.workspace import repository_files, unsolved_files

# The dear cases of a golden and of its rewrites run under so many seeds, the others under all.
SEEDS_FOR_DEAR = 10

_TWO_THREADS = """
import torch as _torch
_torch.set_num_threads(2)
"""
_IN_DOUBLE_PRECISION = """
import torch as _torch
_single_observe = observe
def _cast(value, given, wanted):
    if isinstance(value, _torch.Tensor):
        return value.detach().to(wanted).requires_grad_(value.requires_grad) if value.dtype == given else value
    if isinstance(value, dict):
        return {key: _cast(item, given, wanted) for key, item in value.items()}
    return [_cast(item, given, wanted) for item in value] if isinstance(value, (list, tuple)) else value
def observe(case):
    return _cast(_single_observe(_cast(case, _torch.float32, _torch.float64)), _torch.float64, _torch.float32)
"""


def audit(task: Task, seeds: Sequence[int], pool: WorkerPool, advance: Advance = lambda *_: None) -> Certificate:
    """Measure one task under these seeds. advance: called with a stage's name, what is done of it, and its total.

    Raises TaskError if the golden fails its own check, SandboxError if the machine can't run it.
    """
    laboratory = Laboratory(task, seeds, pool, advance)
    require_drawn_by_seed(laboratory)
    proposes = len(seeds) > SEEDS_FOR_WRONG
    golden = repository_files(task)
    again = [
        Trial("golden", golden, seed, observe=observe, cases=laboratory.cases_under(number, SEEDS_FOR_DEAR))
        for number, seed in enumerate(seeds)
        for observe in (None, laboratory.observing + _TWO_THREADS)
        if observe is None or "torch" in laboratory.imports
    ]
    runs = [result for _, result in laboratory.run("golden", again)]
    precise = [
        Trial("golden", golden, seed, observe=laboratory.observing + _IN_DOUBLE_PRECISION)
        for seed in seeds[:SEEDS_FOR_WRONG]
        if "torch" in laboratory.imports
    ]
    # A case of tensors in double precision, or one that asks for a dtype, can't be compared: its margin is None.
    rounding = [item for _, result in laboratory.run("precision", precise) for item in result.margins]
    mask = laboratory.variants("mask", {"mask": unsolved_files(task)}, seeds[:1])
    rewrites = laboratory.variants(
        "rewrites", _variant_files(task, task.files.rewrites), seeds, must_pass=True, seeds_for_dear=SEEDS_FOR_DEAR
    )
    wrong = laboratory.variants(
        "wrong versions",
        _variant_files(task, task.files.wrong),
        seeds[:SEEDS_FOR_WRONG],
        # Of a few seeds no tolerance is proposed, so that the margins of other cases don't matter.
        until="all" if proposes else "rejected",
    )
    # The cheat knows another seed and must fail here.
    tricks = {item.label: _files(task, item) for item in cheats(task, known_seed=seeds[0] + 1)}
    first = laboratory.goldens[seeds[0]]
    mutation, behavioural = mutations(laboratory)
    return Certificate(
        task=task.id,
        digest=audit_digest(task),
        auditor=AUDITOR,
        seeds=len(seeds),
        sandbox=laboratory.pool.sandbox.name,
        golden=GoldenRuns(
            runs=len(runs),
            cases=sum(len(result.margins) for result in runs),
            flakes=sum(len(result.rejected_by) for result in runs),
            worst_margin=worst(result.margin for result in runs),
            rounding_margin=worst(item for item in rounding if item is not None),
        ),
        mask_rejected=not mask[0].passed,
        rewrites=rewrites,
        wrong=wrong,
        cheats=laboratory.variants("cheats", tricks, seeds[:1], case_seconds=HASTY),
        mutation=mutation,
        behavioural=behavioural,
        leak=worst_leak(task),
        missing=missing(task),
        proposed_tolerance_factor=_between(
            [*(item.margin for item in rewrites), *(item for item in rounding if item is not None)],
            [item.margin for item in wrong],
        )
        if proposes
        else None,
        cost=CheckCost(
            cases=len(first.names),
            seconds=round(first.seconds, 3),
            peak_mb=round(max(result.outcome.peak_mb for result in runs), 1),
            output_bytes=sum(map(len, first.observations)),
        ),
        oracles=oracles(laboratory),
        fixed_inputs=fixed_inputs(*(laboratory.goldens[seed] for seed in seeds[:2])) if len(seeds) > 1 else 0.0,
    )


def _variant_files(task: Task, texts: Mapping[str, str]) -> dict[str, Mapping[str, bytes] | None]:
    return {
        label: _files(task, Submission(system="audit", task=task.id, code=dict.fromkeys(task.goal_files, text)))
        for label, text in texts.items()
    }


def _files(task: Task, submission: Submission) -> Mapping[str, bytes] | None:
    try:
        return candidate_files(task, submission)[0]
    except SubmissionError:
        return None


def _between(right_margins: Iterable[float | None], wrong_margins: Iterable[float | None]) -> float | None:
    """The factor for the tolerance that is as far from the worst of what is right as from the best of what is wrong."""
    right, wrong = worst(right_margins), least(wrong_margins)
    if right is None or wrong is None or wrong <= right:
        return None
    return round(math.sqrt(max(right, 1e-6) * wrong), 3)
