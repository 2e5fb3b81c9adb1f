"""Is a task's check worth something: does it pass what is right, always, and reject what is wrong?

All that is run here is the suite's own, so the mutants of a task share warm workers. Their cheap cases run first, and
only what survives these runs the dear ones and further seeds.
"""

from __future__ import annotations

import math
import time
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from lmrbench.authoring.certificate import Certificate, Cost, GoldenRuns, Mutation, Survivor, Variant
from lmrbench.authoring.cheats import cheats
from lmrbench.authoring.leaks import missing, worst_leak
from lmrbench.authoring.mutants import Mutant, mutants
from lmrbench.errors import SubmissionError, TaskError
from lmrbench.grading.compare import margin
from lmrbench.grading.golden import GoldenOutputs, golden_outputs
from lmrbench.grading.grade import SLOWER
from lmrbench.sandbox.pool import WorkerPool
from lmrbench.sandbox.protocol import Job, Outcome
from lmrbench.sandbox.worker_program.encoding import decode
from lmrbench.tasks.collect import candidate_files
from lmrbench.tasks.digests import audit_digest
from lmrbench.tasks.loading import equivalents_file
from lmrbench.tasks.model import Task
from lmrbench.tasks.submission import Submission
from lmrbench.tasks.workspace import repository_files, third_party_imports, unsolved_files

# Wrong versions and surviving mutants are tried under this many seeds, right ones under all.
SEEDS_FOR_WRONG = 3
# Seconds that a case may take at least: a golden that shares its cores is no flake, a mutant's endless loop is dear.
_PATIENT, _HASTY = 20.0, 1.0
# A case is dear if it takes more than this share of a whole check.
_DEAR = 0.3

_TWO_THREADS = """
import torch as _torch
_torch.set_num_threads(2)
"""
_IN_DOUBLE_PRECISION = """
import torch as _torch
_single_cases, _single_observe = cases, observe
def _cast(value, given, wanted):
    if isinstance(value, _torch.Tensor):
        return value.detach().to(wanted).requires_grad_(value.requires_grad) if value.dtype == given else value
    if isinstance(value, dict):
        return {key: _cast(item, given, wanted) for key, item in value.items()}
    return [_cast(item, given, wanted) for item in value] if isinstance(value, (list, tuple)) else value
def cases(seed):
    return [_cast(case, _torch.float32, _torch.float64) for case in _single_cases(seed)]
def observe(case):
    return _cast(_single_observe(case), _torch.float64, _torch.float32)
"""
_SOME_CASES = """
_all_cases = cases
def cases(seed):
    return [case for number, case in enumerate(_all_cases(seed)) if number in {numbers}]
"""


@dataclass(frozen=True)
class Trial:
    """One run of a check: over what files, under which seed, which cases (all if None), and for whom.

    case_seconds: what each case may take at least; four times what the golden took if that is more.
    """

    files: Mapping[str, bytes]
    seed: int
    owner: str = "audit"
    check: str | None = None
    cases: tuple[int, ...] | None = None
    case_seconds: float = _PATIENT


@dataclass(frozen=True)
class Result:
    """What became of a trial: the cases that reject it, and the margin of each case (none if it didn't start)."""

    rejected_by: tuple[str, ...]
    margins: tuple[float | None, ...]
    outcome: Outcome

    @property
    def margin(self) -> float | None:
        """Of the worst case; None if one differs in kind or was not observed."""
        return _worst(self.margins)


Advance = Callable[[str, int, int], None]


def audit(task: Task, seeds: Sequence[int], pool: WorkerPool, advance: Advance = lambda *_: None) -> Certificate:
    """Measure one task under these seeds. advance: called with a stage's name, what is done of it, and its total.

    Raises TaskError if the golden fails its own check, SandboxError if the machine can't run it.
    """
    laboratory = _Laboratory(task, seeds, pool, advance)
    golden = repository_files(task)
    again = [
        Trial(golden, seed, f"audit {threads}", check)
        for seed in seeds
        for threads, check in (("one thread", None), ("two threads", laboratory.check + _TWO_THREADS))
        if check is None or "torch" in laboratory.imports
    ]
    runs = [result for _, result in laboratory.run("golden", again)]
    precise = [
        Trial(golden, seed, "audit double", laboratory.check + _IN_DOUBLE_PRECISION)
        for seed in seeds[:SEEDS_FOR_WRONG]
        if "torch" in laboratory.imports
    ]
    # A case of tensors in double precision, or one that asks for a dtype, can't be compared: its margin is None.
    rounding = [item for _, result in laboratory.run("precision", precise) for item in result.margins]
    mask = laboratory.variants("mask", {"mask": unsolved_files(task)}, seeds[:1])
    rewrites = laboratory.variants("rewrites", _variant_files(task, task.files.rewrites), seeds, must_pass=True)
    wrong = laboratory.variants("wrong versions", _variant_files(task, task.files.wrong), seeds[:SEEDS_FOR_WRONG])
    # Whoever knows one seed meets another.
    tricks = {item.label: _files(task, item) for item in cheats(task, known_seed=seeds[0] + 1)}
    first = laboratory.goldens[seeds[0]]
    return Certificate(
        task=task.id,
        digest=audit_digest(task),
        seeds=len(seeds),
        golden=GoldenRuns(
            runs=len(runs),
            cases=len(runs) * len(first.names),
            flakes=sum(len(result.rejected_by) for result in runs),
            worst_margin=_worst(result.margin for result in runs),
            rounding_margin=_worst(item for item in rounding if item is not None),
        ),
        mask_rejected=not mask[0].passed,
        rewrites=rewrites,
        wrong=wrong,
        cheats=laboratory.variants("cheats", tricks, seeds[:1], case_seconds=_HASTY),
        mutation=laboratory.mutation(),
        leak=worst_leak(task),
        missing=missing(task),
        proposed_tolerance_factor=_between(
            [*(item.margin for item in rewrites), *(item for item in rounding if item is not None)],
            [item.margin for item in wrong],
        ),
        cost=Cost(
            cases=len(first.names),
            seconds=round(first.seconds, 3),
            peak_mb=round(max(result.outcome.peak_mb for result in runs), 1),
            output_bytes=sum(map(len, first.observations)),
        ),
    )


class _Laboratory:
    """One task, its goldens under all seeds, and the pool that runs trials of it."""

    def __init__(self, task: Task, seeds: Sequence[int], pool: WorkerPool, advance: Advance) -> None:
        self.task = task
        self.seeds = seeds
        self.pool = pool
        self.advance = advance
        self.check = task.files.check
        self.imports = third_party_imports(task)
        observed = golden_outputs([task], seeds, pool)
        self.goldens = {seed: observed[task.id, seed] for seed in seeds}

    def run(self, stage: str, trials: Sequence[Trial]) -> Iterator[tuple[Trial, Result]]:
        """Run trials; yields each with its result, in the order in which they end."""
        self.advance(stage, 0, len(trials))
        outcomes = self.pool.run([self._job(trial) for trial in trials])
        for done, (number, outcome) in enumerate(outcomes, start=1):
            self.advance(stage, done, len(trials))
            yield trials[number], self._result(trials[number], outcome)

    def variants(
        self,
        stage: str,
        files: Mapping[str, Mapping[str, bytes] | None],
        seeds: Sequence[int],
        must_pass: bool = False,
        case_seconds: float = _PATIENT,
    ) -> tuple[Variant, ...]:
        """Try each variant under each seed: its worst counts where it must pass, its best where it must fail."""
        trials = [
            Trial(item, seed, case_seconds=case_seconds)
            for item in files.values()
            if item is not None
            for seed in seeds
        ]
        of_files: dict[int, list[Result]] = {}
        for trial, result in self.run(stage, trials):
            of_files.setdefault(id(trial.files), []).append(result)
        found = []
        for name, item in files.items():
            results = of_files.get(id(item), [])
            margins = [result.margin for result in results]
            rejections = [result.rejected_by[0] for result in results if result.rejected_by]
            if item is None:
                rejections = ["the repository, which it can't be put into"]
            passed = not rejections if must_pass else len(rejections) < len(results)
            found.append(
                Variant(
                    name=name,
                    passed=passed,
                    rejected_by=rejections[0] if rejections else "",
                    margin=_worst(margins) if must_pass else _least(margins),
                )
            )
        return tuple(found)

    def mutation(self) -> Mutation:
        """Make and try all mutants, the cheap cases first."""
        declared = _declared_equivalent(self.task)
        every = mutants(self.task)
        if unknown := declared - {mutant.id for mutant in every}:
            raise TaskError(f"{equivalents_file(self.task)}: there is no mutant {min(unknown)}")
        suspects = [mutant for mutant in every if mutant.id not in declared]
        began = time.perf_counter()
        golden = self.goldens[self.seeds[0]]
        dear = [n for n, seconds in enumerate(golden.case_seconds) if seconds > _DEAR * sum(golden.case_seconds)]
        cheap = tuple(number for number in range(len(golden.names)) if number not in dear)
        left = self._survivors("mutants, cheap cases", suspects, self.seeds[:1], cheap) if cheap else suspects
        if dear:
            left = self._survivors("mutants, dear cases", left, self.seeds[:1], tuple(dear))
        per_second = len(suspects) / (time.perf_counter() - began)
        left = self._survivors("mutants, more seeds", left, self.seeds[1:SEEDS_FOR_WRONG], None)
        equal = [mutant for mutant in every if mutant.id in declared]
        truly = self._survivors("declared equivalents", equal, self.seeds, None)
        return Mutation(
            mutants=len(suspects),
            rejected=len(suspects) - len(left),
            equivalent=len(equal),
            refuted=tuple(mutant.id for mutant in equal if mutant not in truly),
            survivors=tuple(Survivor(id=item.id, operator=item.operator, diff=item.diff) for item in left),
            per_second=round(per_second, 1),
        )

    def _survivors(
        self, stage: str, suspects: Sequence[Mutant], seeds: Sequence[int], cases: tuple[int, ...] | None
    ) -> list[Mutant]:
        golden = repository_files(self.task)
        by_files = {}
        trials = []
        for mutant in suspects:
            files = {**golden, mutant.target.file: mutant.file}
            by_files[id(files)] = mutant
            trials += [Trial(files, seed, cases=cases, case_seconds=_HASTY) for seed in seeds]
        rejected = {by_files[id(trial.files)].id for trial, result in self.run(stage, trials) if result.rejected_by}
        return [mutant for mutant in suspects if mutant.id not in rejected]

    def _job(self, trial: Trial) -> Job:
        golden = self._golden(trial)
        check = trial.check or self.check
        if trial.cases is not None:
            check += _SOME_CASES.format(numbers=set(trial.cases))
        return Job(
            owner=trial.owner,
            files=trial.files,
            check=check,
            seed=trial.seed,
            limits=self.task.limits,
            task_seconds=2 * max(trial.case_seconds, SLOWER * golden.seconds),
            case_seconds=[max(trial.case_seconds, SLOWER * seconds) for seconds in golden.case_seconds],
            imports=self.imports,
        )

    def _golden(self, trial: Trial) -> GoldenOutputs:
        golden = self.goldens[trial.seed]
        if trial.cases is None:
            return golden
        fields = ("names", "observations", "case_seconds")
        chosen = {name: tuple(getattr(golden, name)[number] for number in trial.cases) for name in fields}
        return golden.model_copy(update=chosen)

    def _result(self, trial: Trial, outcome: Outcome) -> Result:
        golden = self._golden(trial)
        if outcome.broken is not None:
            return Result(golden.names, (None,), outcome)
        rejected_by: list[str] = []
        margins: list[float | None] = []
        for name, payload, case in zip_longest(golden.names, golden.observations, outcome.cases):
            factor = None
            if payload is not None and case is not None and case.status == "observed":
                factor = self._margin(payload, case.payload)
            margins.append(factor)
            if factor is None or factor > 1:
                rejected_by.append(name or "a case too many")
        return Result(tuple(rejected_by), tuple(margins), outcome)

    def _margin(self, golden: bytes, observed: bytes) -> float | None:
        if golden == observed:
            return 0.0
        try:
            return margin(decode(golden), decode(observed), self.task.tolerance, self.task.tolerances)
        except ValueError:
            return None


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


def _declared_equivalent(task: Task) -> set[str]:
    """The ids of the mutants that the task's author declares to be no mistakes, each with a reason."""
    file = equivalents_file(task)
    try:
        table = tomllib.loads(task.files.equivalents)
    except tomllib.TOMLDecodeError as error:
        raise TaskError(f"{file}: {error}") from error
    for name, reason in table.items():
        if not isinstance(reason, str) or not reason.strip():
            raise TaskError(f"{file}: {name}: a reason is needed")
    return set(table)


def _worst(margins: Iterable[float | None]) -> float | None:
    """The largest; None, which no tolerance helps, is larger than all."""
    worst = max((math.inf if item is None else item for item in margins), default=0.0)
    return None if worst == math.inf else round(worst, 6)


def _least(margins: Iterable[float | None]) -> float | None:
    least = min((math.inf if item is None else item for item in margins), default=math.inf)
    return None if least == math.inf else round(least, 6)


def _between(right_margins: Iterable[float | None], wrong_margins: Iterable[float | None]) -> float | None:
    """The factor for the tolerance that is as far from the worst of what is right as from the best of what is wrong."""
    right, least = _worst(right_margins), _least(wrong_margins)
    if right is None or least is None or least <= right:
        return None
    return round(math.sqrt(max(right, 1e-6) * least), 3)
