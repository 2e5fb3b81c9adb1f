"""The audit of a task of the function tier: measure how reliably its check accepts correct code and rejects wrong code.

The reference implementation is called the golden. A *rewrite* is another correct implementation; the rewrite named
`plain` is short and may fail in edge cases. A *wrong version* contains a plausible mistake. A *cheat* is an answer that
needs no understanding of the task. A *margin* is a difference from the golden, divided by the tolerance.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from lmrbench.authoring.audit.certificate import AUDITOR, Certificate, CheckCost, GoldenRuns, Variant
from lmrbench.authoring.audit.cheats import cheats
from lmrbench.authoring.audit.knowledge import fixed_inputs, oracles, require_drawn_by_seed
from lmrbench.authoring.audit.laboratory import HASTY, Laboratory, Trial, TrialResult, Until, least, worst
from lmrbench.authoring.audit.leaks import missing, worst_leak
from lmrbench.authoring.audit.mutation import SEEDS_FOR_WRONG, mutations
from lmrbench.errors import SubmissionError
from lmrbench.grading.systems import PLAIN
from lmrbench.progress import Advance
from lmrbench.sandbox.protocol import WorkerPool
from lmrbench.tasks.collect import candidate_files
from lmrbench.tasks.digests import audit_digest
from lmrbench.tasks.model import Task
from lmrbench.tasks.submission import Submission
from lmrbench.tasks.workspace import repository_files, unsolved_files
from lmrbench.tasks.wrong import breaks_only_edge_cases

# The number of seeds for rewrites. The golden and the plain rewrite run under all seeds.
SEEDS_FOR_REWRITES = 25
# The number of seeds for costly cases (those that take a large share of the check's time), and for runs of the golden
# with two threads.
SEEDS_FOR_COSTLY = 10

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
    """Audit a task of the function tier, and return its certificate.

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
    proposes = len(seeds) > SEEDS_FOR_WRONG
    golden = repository_files(task)
    again = [
        Trial("golden", golden, seed, cases=laboratory.cases_under(number, SEEDS_FOR_COSTLY))
        for number, seed in enumerate(seeds)
    ]
    if "torch" in laboratory.imports:
        threaded = laboratory.observing + _TWO_THREADS
        again += [Trial("golden", golden, seed, observe=threaded) for seed in seeds[:SEEDS_FOR_COSTLY]]
    runs = [result for _, result in laboratory.run("golden", again)]
    rounding = _rounding_margins(laboratory)
    mask = laboratory.variants("mask", {"mask": unsolved_files(task)}, seeds[:1])
    rewrites = tried_rewrites(laboratory)
    # With few seeds no tolerance is proposed, so the margins of cases after the first rejection are not needed.
    wrong = tried_wrong_versions(laboratory, "all" if proposes else "rejected")
    mutation, behavioural = mutations(laboratory)
    return Certificate(
        task=task.id,
        digest=audit_digest(task),
        auditor=AUDITOR,
        seeds=len(seeds),
        sandbox=laboratory.pool.sandbox.name,
        golden=golden_runs(runs, worst(rounding)),
        mask_rejected=not mask[0].correct,
        rewrites=rewrites,
        wrong=wrong,
        cheats=tried_cheats(laboratory),
        mutation=mutation,
        behavioural=behavioural,
        leak=worst_leak(task),
        missing=missing(task),
        proposed_tolerance_factor=_between(
            [*(item.margin for item in rewrites), *rounding], [item.margin for item in wrong]
        )
        if proposes
        else None,
        cost=check_cost(laboratory, runs),
        oracles=oracles(laboratory),
        fixed_inputs=fixed_inputs(laboratory),
    )


def tried_rewrites(laboratory: Laboratory) -> tuple[Variant, ...]:
    """Run every rewrite under many seeds, and return the results."""
    files = variant_files(laboratory.task, laboratory.task.files.rewrites)
    found: dict[str, Variant] = {}
    for names, seeds in (
        (files.keys() - {PLAIN}, laboratory.seeds[:SEEDS_FOR_REWRITES]),
        (files.keys() & {PLAIN}, laboratory.seeds),
    ):
        some = {name: files[name] for name in sorted(names)}
        tried = laboratory.variants("rewrites", some, seeds, must_pass=True, seeds_for_costly=SEEDS_FOR_COSTLY)
        found |= {item.name: item for item in tried}
    return tuple(found[name] for name in files)


def tried_wrong_versions(laboratory: Laboratory, until: Until) -> tuple[Variant, ...]:
    """Run every wrong version under some seeds, and return the results.

    Args:
        laboratory: The laboratory that runs the task's check.
        until: The point at which a run may end; see `Trial`.
    """
    texts = laboratory.task.files.wrong
    files = variant_files(laboratory.task, texts)
    found = laboratory.variants("wrong versions", files, laboratory.seeds[:SEEDS_FOR_WRONG], until=until)
    return tuple(item.model_copy(update={"edge": breaks_only_edge_cases(texts[item.name])}) for item in found)


def golden_runs(runs: Sequence[TrialResult], rounding_margin: float | None) -> GoldenRuns:
    """Summarize repeated runs of the golden."""
    return GoldenRuns(
        runs=len(runs),
        cases=sum(len(result.margins) for result in runs),
        flakes=sum(len(result.rejected_by) for result in runs),
        worst_margin=worst(result.margin for result in runs),
        rounding_margin=rounding_margin,
    )


def check_cost(laboratory: Laboratory, runs: Sequence[TrialResult]) -> CheckCost:
    """Return the cost of a check, given repeated runs of the golden."""
    first = laboratory.goldens[laboratory.seeds[0]]
    return CheckCost(
        cases=len(first.names),
        edge=len(first.edge),
        seconds=round(first.seconds, 3),
        peak_mb=round(max(result.outcome.peak_mb for result in runs), 1),
        output_bytes=sum(map(len, first.observations)),
    )


def tried_cheats(laboratory: Laboratory) -> tuple[Variant, ...]:
    """Run every cheat under the first seed, and return the results."""
    task, seed = laboratory.task, laboratory.seeds[0]
    # The cheat that knows one seed is given a different seed from the one it runs under, so it must fail, too.
    files = {item.label: _files(task, item) for item in cheats(task, known_seed=seed + 1)}
    return laboratory.variants("cheats", files, [seed], case_seconds=HASTY)


def variant_files(task: Task, texts: Mapping[str, str]) -> dict[str, Mapping[str, bytes] | None]:
    """Insert rewrites or wrong versions into the repository.

    Args:
        task: The task that the versions belong to.
        texts: The source code of each version, by the version's name.

    Returns:
        For each version, by its name: the files of the repository with the version, or None if it can't be inserted.
    """
    return {
        label: _files(task, Submission(system="audit", task=task.id, code=dict.fromkeys(task.goal_files, text)))
        for label, text in texts.items()
    }


def _files(task: Task, submission: Submission) -> Mapping[str, bytes] | None:
    try:
        return candidate_files(task, submission)[0]
    except SubmissionError:
        return None


def _rounding_margins(laboratory: Laboratory) -> list[float]:
    """Return the golden's margins when it runs in double instead of single precision, for comparable cases."""
    golden = repository_files(laboratory.task)
    precise = [
        Trial("golden", golden, seed, observe=laboratory.observing + _IN_DOUBLE_PRECISION)
        for seed in laboratory.seeds[:SEEDS_FOR_WRONG]
        if "torch" in laboratory.imports
    ]
    # A case with tensors in double precision, or with a result that depends on the dtype, can't be compared: its margin
    # is None.
    found = [item for _, result in laboratory.run("precision", precise) for item in result.margins]
    return [item for item in found if item is not None]


def _between(right_margins: Iterable[float | None], wrong_margins: Iterable[float | None]) -> float | None:
    """Return the geometric mean of the largest margin of correct code and the smallest margin of wrong code.

    Returns None if the margins overlap or one of them is None.
    """
    right, wrong = worst(right_margins), least(wrong_margins)
    if right is None or wrong is None or wrong <= right:
        return None
    return round(math.sqrt(max(right, 1e-6) * wrong), 3)
