"""Runs of a task's check over changed repositories, compared with what its golden returned.

All that is run here is the suite's own, so the variants of a task share warm workers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Literal

from lmrbench.authoring.audit.certificate import Variant
from lmrbench.grading.compare import compare, margin
from lmrbench.grading.reference import GoldenOutputs, golden_job, golden_outputs, observing_of
from lmrbench.sandbox.inside.encoding import decode
from lmrbench.sandbox.protocol import CaseOutcome, Cases, Job, Outcome, WorkerPool
from lmrbench.tasks.model import Task
from lmrbench.tasks.workspace import third_party_imports

# Seconds that a case may take at least: generous for what should pass, since a busy machine is not flakiness, and short
# for mutants, many of which loop forever.
PATIENT, HASTY = 20.0, 1.0
# Of what the golden took, if that is more.
SLOWER = 4.0
# A case is dear if it takes more than this share of a whole check.
_DEAR = 0.3

Advance = Callable[[str, int, int], None]
Until = Literal["all", "rejected", "rejected and observed"]


@dataclass(frozen=True)
class Trial:
    """One run of a check: of what, over which files, under which seed, which cases (all if None), and for whom.

    observe: the source of another `observe` than the check's. case_seconds: what each case may take at least; four
    times what the golden took if that is more. until: where it may end: with all cases, with the first that rejects
    it, or once one has rejected it and any was observed.
    """

    name: str
    files: Mapping[str, bytes]
    seed: int
    owner: str = "audit"
    observe: str | None = None
    cases: tuple[int, ...] | None = None
    case_seconds: float = PATIENT
    until: Until = "all"


@dataclass(frozen=True)
class TrialResult:
    """The result of a trial: the cases that reject it, and the margin of each case (none if it didn't start)."""

    rejected_by: tuple[str, ...]
    margins: tuple[float | None, ...]
    outcome: Outcome

    @property
    def margin(self) -> float | None:
        """Of the worst case; None if one differs in kind or was not observed."""
        return worst(self.margins)


class Laboratory:
    """One task, its goldens under all seeds, and the pool that runs trials of it."""

    def __init__(self, task: Task, seeds: Sequence[int], pool: WorkerPool, advance: Advance) -> None:
        self.task = task
        self.seeds = seeds
        self.pool = pool
        self.advance = advance
        self.imports = third_party_imports(task)
        observed = golden_outputs([task], seeds, pool)
        self.goldens = {seed: observed[task.id, seed] for seed in seeds}
        self.observing = observing_of(task)

    @property
    def dear(self) -> tuple[int, ...]:
        """The numbers of the cases that take most of a check's time, as experiments do."""
        golden = self.goldens[self.seeds[0]]
        return tuple(n for n, seconds in enumerate(golden.case_seconds) if seconds > _DEAR * sum(golden.case_seconds))

    @property
    def cheap(self) -> tuple[int, ...]:
        """The numbers of the other cases."""
        return tuple(number for number in range(len(self.goldens[self.seeds[0]].names)) if number not in self.dear)

    def run(self, stage: str, trials: Sequence[Trial]) -> Iterator[tuple[Trial, TrialResult]]:
        """Run trials; yields each with its result, in the order in which they end."""
        for number, outcome in self.observe(stage, [self._job(trial) for trial in trials]):
            yield trials[number], self._result(trials[number], outcome)

    def observe(self, stage: str, jobs: Sequence[Job]) -> Iterator[tuple[int, Outcome]]:
        """Run jobs that are compared with no golden; yields the number of each with its outcome."""
        self.advance(stage, 0, len(jobs))
        for done, numbered in enumerate(self.pool.run(jobs), start=1):
            self.advance(stage, done, len(jobs))
            yield numbered

    def job(self, files: Mapping[str, bytes], seed: int, cases: Cases | None = None, owner: str = "audit") -> Job:
        """Return a job over these files: of the check's own cases under one of the seeds, or of others."""
        drawn = self.goldens[seed].drawn if cases is None else cases
        return replace(golden_job(self.task, seed, drawn), owner=owner, files=files, confirmed=False)

    def reason(self, trial: Trial, result: TrialResult) -> str:
        """Why the first case that rejects a trial does so, in words."""
        golden = self._golden(trial)
        number = golden.names.index(result.rejected_by[0]) if result.rejected_by[0] in golden.names else -1
        if result.outcome.broken is not None or not 0 <= number < len(result.outcome.cases):
            return (result.outcome.broken or "a case too many").strip().splitlines()[-1]
        case = result.outcome.cases[number]
        if case.status != "observed":
            return next(iter(case.message.strip().splitlines()[-1:]), case.status)
        try:
            found = decode(case.payload)
        except ValueError as error:
            return str(error)
        return compare(decode(golden.observations[number]), found, self.task.tolerance, self.task.tolerances) or ""

    def variants(
        self,
        stage: str,
        files: Mapping[str, Mapping[str, bytes] | None],
        seeds: Sequence[int],
        must_pass: bool = False,
        case_seconds: float = PATIENT,
        seeds_for_dear: int | None = None,
        until: Until = "all",
    ) -> tuple[Variant, ...]:
        """Try each variant under each seed: its worst counts where it must pass, its best where it must fail.

        seeds_for_dear: the dear cases run under the first so many seeds only. until: of `Trial`.
        """
        trials = [
            Trial(
                name,
                item,
                seed,
                case_seconds=case_seconds,
                cases=self._cases(number, must_pass, seeds_for_dear),
                until=until,
            )
            for name, item in files.items()
            if item is not None
            for number, seed in enumerate(seeds)
        ]
        found = list(self.run(stage, trials))
        if not must_pass:
            # What the cheap cases let pass meets the dear ones too.
            left = [replace(trial, cases=None) for trial, result in found if trial.cases and not result.rejected_by]
            found = [pair for pair in found if pair[1].rejected_by or not pair[0].cases]
            found += self.run(f"{stage}, dear cases", left)
        results: dict[str, list[tuple[Trial, TrialResult]]] = {name: [] for name in files}
        for trial, result in found:
            results[trial.name].append((trial, result))
        return tuple(
            self._variant(name, [] if item is None else results[name], must_pass) for name, item in files.items()
        )

    def _cases(self, number: int, must_pass: bool, seeds_for_dear: int | None) -> tuple[int, ...] | None:
        if must_pass:
            return self.cases_under(number, seeds_for_dear)
        return self.cheap if self.cheap and self.dear else None

    def cases_under(self, number: int, seeds_for_dear: int | None) -> tuple[int, ...] | None:
        """The cases of the seed of that number: all, or only the cheap ones (if there are any)."""
        return self.cheap if seeds_for_dear is not None and number >= seeds_for_dear and self.cheap else None

    def _variant(self, name: str, results: Sequence[tuple[Trial, TrialResult]], must_pass: bool) -> Variant:
        margins = [result.margin for _, result in results]
        rejections = [result.rejected_by[0] for _, result in results if result.rejected_by]
        if not results:
            rejections = ["the repository, which it can't be put into"]
        return Variant(
            name=name,
            passed=not rejections if must_pass else len(rejections) < len(results),
            rejected_by=rejections[0] if rejections else "",
            margin=worst(margins) if must_pass else least(margins),
            closest=self._closest(results) if must_pass else "",
        )

    def _closest(self, results: Sequence[tuple[Trial, TrialResult]]) -> str:
        """The case with the largest margin that is a number."""
        pairs = [
            (factor, case)
            for trial, result in results
            for factor, case in zip(result.margins, self._golden(trial).names, strict=False)
            if factor is not None
        ]
        return max(pairs, default=(0.0, ""))[1]

    def _job(self, trial: Trial) -> Job:
        golden = self._golden(trial)
        return replace(
            self.job(trial.files, trial.seed, owner=trial.owner),
            observe=trial.observe or self.observing,
            numbers=trial.cases,
            check_seconds=2 * max(trial.case_seconds, SLOWER * golden.seconds),
            case_seconds=[max(trial.case_seconds, SLOWER * seconds) for seconds in golden.case_seconds],
            ends_with=None if trial.until == "all" else self._settled(trial, golden),
        )

    def _settled(self, trial: Trial, golden: GoldenOutputs) -> Callable[[int, CaseOutcome], bool]:
        """Told of each case, whether the trial may end."""
        found: set[str] = set()

        def settled(number: int, case: CaseOutcome) -> bool:
            if number == 0:
                # A job whose worker was lost begins again.
                found.clear()
            if number < len(golden.names) and _rejects(self._factor(golden.observations[number], case)):
                found.add("rejected")
            if case.status == "observed":
                found.add("observed")
            return found.issuperset(trial.until.split(" and "))

        return settled

    def _golden(self, trial: Trial) -> GoldenOutputs:
        golden = self.goldens[trial.seed]
        if trial.cases is None:
            return golden
        fields = ("names", "observations", "case_seconds")
        chosen = {name: tuple(getattr(golden, name)[number] for number in trial.cases) for name in fields}
        return golden.model_copy(update=chosen)

    def _result(self, trial: Trial, outcome: Outcome) -> TrialResult:
        golden = self._golden(trial)
        if outcome.broken is not None:
            return TrialResult(golden.names, (None,), outcome)
        rejected_by: list[str] = []
        margins: list[float | None] = []
        for name, payload, case in zip_longest(golden.names, golden.observations, outcome.cases):
            factor = self._factor(payload, case)
            margins.append(factor)
            if _rejects(factor):
                rejected_by.append(name or "a case too many")
        return TrialResult(tuple(rejected_by), tuple(margins), outcome)

    def _factor(self, golden: bytes | None, case: CaseOutcome | None) -> float | None:
        if golden is None or case is None or case.status != "observed":
            return None
        if golden == case.payload:
            return 0.0
        try:
            return margin(decode(golden), decode(case.payload), self.task.tolerance, self.task.tolerances)
        except ValueError:
            return None


def _rejects(factor: float | None) -> bool:
    return factor is None or factor > 1


def worst(margins: Iterable[float | None]) -> float | None:
    """The largest; None, which no tolerance helps, is larger than all."""
    largest = max((math.inf if item is None else item for item in margins), default=0.0)
    return None if largest == math.inf else round(largest, 6)


def least(margins: Iterable[float | None]) -> float | None:
    """The smallest; None is larger than all."""
    smallest = min((math.inf if item is None else item for item in margins), default=math.inf)
    return None if smallest == math.inf else round(smallest, 6)
