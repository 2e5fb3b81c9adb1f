"""The laboratory of an audit: run a task's check on changed repositories, and compare the results with the golden's.

The golden is the reference implementation. A margin is a difference from its results, divided by the tolerance; a case
with a margin above 1 rejects the changed repository, which is called a variant. Workers are shared only between jobs of
the same owner. All code that comes with the suite has the same owner, so the variants of a task share warm workers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Literal

from lmrbench.authoring.audit.certificate import Variant
from lmrbench.grading.compare import compare, margin
from lmrbench.grading.draw import observing_of, reference_job
from lmrbench.grading.observe import ReferenceOutputs, reference_outputs
from lmrbench.grading.verdicts import case_seconds, check_seconds
from lmrbench.progress import Advance
from lmrbench.sandbox.inside.encoding import decode
from lmrbench.sandbox.protocol import CaseOutcome, Cases, Job, Outcome, WorkerPool
from lmrbench.tasks.model import Task
from lmrbench.tasks.workspace import third_party_imports

# The time limits of a case, in seconds: a long one for code that should pass even on a busy machine, and a short one
# for mutants, many of which loop forever.
PATIENT, HASTY = 20.0, 1.0
# A time limit is at least this multiple of the golden's time.
SLOWER = 4.0
# A case is costly if it takes more than this share of the time of the whole check.
_COSTLY = 0.3

Until = Literal["all", "rejected", "rejected and observed"]


@dataclass(frozen=True)
class Trial:
    """One run of a check.

    Attributes:
        name: The name of the variant.
        files: The contents of the repository's files, by path.
        seed: The seed of the cases.
        owner: The owner of the code. Workers are shared only between trials of the same owner.
        observe: The source code of a function to use in place of the check's `observe`; None for the check's own.
        cases: The numbers of the cases to run; None for all.
        case_seconds: The time limit of each case, or `SLOWER` times the golden's time if that is more.
        until: The point at which the run may end: after all cases, at the first case that rejects the variant, or when
            one case has rejected the variant and one has been observed.
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
    """The result of a trial.

    Attributes:
        rejected_by: The names of the cases that reject the variant.
        correct: Whether no ordinary case rejects it.
        margins: The margin of each case; None for a case that was not observed, or that differs in a way that no
            tolerance allows.
        outcome: The outcome of the job.
    """

    rejected_by: tuple[str, ...]
    correct: bool
    margins: tuple[float | None, ...]
    outcome: Outcome

    @property
    def margin(self) -> float | None:
        """The largest margin of a case; None if the margin of any case is None."""
        return worst(self.margins)


class Laboratory:
    """A task whose golden was observed under all seeds, and a pool of workers that runs trials.

    Attributes:
        task: The audited task.
        seeds: The seeds under which the golden was observed.
        pool: The workers that run trials.
        advance: Called with the name of a stage, the number of its finished jobs, and the number of all its jobs.
        imports: The installed packages that the task imports.
        goldens: The golden's observations, by seed.
        observing: The source code of the check's `observe`.
    """

    def __init__(self, task: Task, seeds: Sequence[int], pool: WorkerPool, advance: Advance) -> None:
        """Observe the golden under all seeds. The arguments are described as attributes of the class.

        Raises:
            TaskError: The golden fails its own check.
            SandboxError: The sandbox can't run the check on this machine.
        """
        self.task = task
        self.seeds = seeds
        self.pool = pool
        self.advance = advance
        self.imports = third_party_imports(task)
        observed = reference_outputs([task], seeds, pool)
        self.goldens = {seed: observed[task.id, seed] for seed in seeds}
        self.observing = observing_of(task)

    @property
    def costly(self) -> tuple[int, ...]:
        """The numbers of the costly cases, such as experiments, which take a large share of a check's time."""
        golden = self.goldens[self.seeds[0]]
        return tuple(n for n, seconds in enumerate(golden.case_seconds) if seconds > _COSTLY * sum(golden.case_seconds))

    @property
    def cheap(self) -> tuple[int, ...]:
        """The numbers of the cases that are not costly."""
        return tuple(number for number in range(len(self.goldens[self.seeds[0]].names)) if number not in self.costly)

    def by_cost(self, seed: int) -> tuple[int, ...]:
        """Return the numbers of a seed's cases: ordinary before edge cases, and in both groups costly cases last."""
        golden, costly = self.goldens[seed], self.costly
        return tuple(sorted(range(len(golden.names)), key=lambda number: (number in golden.edge, number in costly)))

    def run(self, stage: str, trials: Sequence[Trial]) -> Iterator[tuple[Trial, TrialResult]]:
        """Run trials, and compare their observations with the golden's.

        Args:
            stage: The name of the stage, for `advance`.
            trials: The trials to run.

        Yields:
            Each trial and its result, in the order in which the trials end.
        """
        for number, outcome in self.observe(stage, [self._job(trial) for trial in trials]):
            yield trials[number], self._result(trials[number], outcome)

    def observe(self, stage: str, jobs: Sequence[Job]) -> Iterator[tuple[int, Outcome]]:
        """Run jobs without comparing them with the golden.

        Args:
            stage: The name of the stage, for `advance`.
            jobs: The jobs to run.

        Yields:
            The number of each job and its outcome, in the order in which the jobs end.
        """
        self.advance(stage, 0, len(jobs))
        for done, numbered in enumerate(self.pool.run(jobs), start=1):
            self.advance(stage, done, len(jobs))
            yield numbered

    def job(self, files: Mapping[str, bytes], seed: int, cases: Cases | None = None, owner: str = "audit") -> Job:
        """Return a job that observes cases with a repository.

        Args:
            files: The contents of the repository's files, by path.
            seed: The seed of the check's cases, and of random numbers while they are observed.
            cases: Cases to use instead of the check's own.
            owner: The owner of the code.
        """
        drawn = self.goldens[seed].drawn if cases is None else cases
        return replace(reference_job(self.task, seed, drawn), owner=owner, files=files, confirmed=False)

    def reason(self, trial: Trial, result: TrialResult) -> str:
        """Return the reason for the rejection of a trial, from the first case that rejected it."""
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
        return compare(decode(golden.observations[number]), found, self.task.bounds) or ""

    def variants(
        self,
        stage: str,
        files: Mapping[str, Mapping[str, bytes] | None],
        seeds: Sequence[int],
        must_pass: bool = False,
        case_seconds: float = PATIENT,
        seeds_for_costly: int | None = None,
        until: Until = "all",
    ) -> tuple[Variant, ...]:
        """Run each variant under each seed, and return one result for each variant.

        Args:
            stage: The name of the stage, for `advance`.
            files: The files of the repository with each variant, by the variant's name; None for a variant that can't
                be inserted into the repository.
            seeds: The seeds to run each variant under.
            must_pass: Whether a variant passes only if it is accepted under every seed. Otherwise, one seed is enough.
            case_seconds: See `Trial`.
            seeds_for_costly: The number of seeds under which the costly cases run; None for all.
            until: See `Trial`.
        """
        trials = [
            Trial(
                name,
                item,
                seed,
                case_seconds=case_seconds,
                cases=self.cases_under(number, seeds_for_costly) if must_pass else self.by_cost(seed),
                until=until,
            )
            for name, item in files.items()
            if item is not None
            for number, seed in enumerate(seeds)
        ]
        results: dict[str, list[tuple[Trial, TrialResult]]] = {name: [] for name in files}
        for trial, result in self.run(stage, trials):
            results[trial.name].append((trial, result))
        return tuple(
            self._variant(name, [] if item is None else results[name], must_pass) for name, item in files.items()
        )

    def cases_under(self, number: int, seeds_for_costly: int | None) -> tuple[int, ...] | None:
        """Return the numbers of the cases to run under a seed, or None for all of them.

        Under the first `seeds_for_costly` seeds, all cases run. Under later seeds, only the cheap cases run, if any.

        Args:
            number: The index of the seed in the list of seeds.
            seeds_for_costly: The number of seeds under which the costly cases run; None for all.
        """
        return self.cheap if seeds_for_costly is not None and number >= seeds_for_costly and self.cheap else None

    def _variant(self, name: str, results: Sequence[tuple[Trial, TrialResult]], must_pass: bool) -> Variant:
        margins = [result.margin for _, result in results]
        # A rejection by an ordinary case is reported in preference to one by an edge case under another seed.
        by_kind = sorted((result for _, result in results), key=lambda result: result.correct)
        rejections = [result.rejected_by[0] for result in by_kind if result.rejected_by]
        if not results:
            rejections = ["the repository, which it can't be put into"]
        accept = all if must_pass else any
        variant = Variant(
            name=name,
            passed=bool(results) and accept(not result.rejected_by for _, result in results),
            correct=bool(results) and accept(result.correct for _, result in results),
            rejected_by=rejections[0] if rejections else "",
            margin=worst(margins) if must_pass else least(margins),
        )
        if not must_pass:
            return variant
        fails = dict.fromkeys(case for _, result in results for case in result.rejected_by)
        seconds = max((self._share_of_limits(trial, result) for trial, result in results), default=0.0)
        return variant.model_copy(
            update={"closest": self._closest(results), "fails": tuple(fails), "seconds": round(seconds, 3)}
        )

    def _share_of_limits(self, trial: Trial, result: TrialResult) -> float:
        """Return the largest share that a run used of the time limits that a submission would have."""
        golden = self._golden(trial)
        shares = [case.seconds / limit for case, limit in zip(result.outcome.cases, case_seconds(golden), strict=False)]
        return max([result.outcome.processor_seconds / check_seconds(golden), *shares])

    def _closest(self, results: Sequence[tuple[Trial, TrialResult]]) -> str:
        """Return the name of the case with the largest margin, not counting cases without a margin."""
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

    def _settled(self, trial: Trial, golden: ReferenceOutputs) -> Callable[[int, CaseOutcome], bool]:
        """Return a function that is called after each case and returns whether the trial may end."""
        found: set[str] = set()

        def settled(number: int, case: CaseOutcome) -> bool:
            if number == 0:
                # If the worker was lost, the job starts again from the first case.
                found.clear()
            if number < len(golden.names) and _rejects(self._factor(trial, number, case)):
                found.add("rejected")
            if case.status == "observed":
                found.add("observed")
            return found.issuperset(trial.until.split(" and "))

        return settled

    def _golden(self, trial: Trial) -> ReferenceOutputs:
        golden = self.goldens[trial.seed]
        if trial.cases is None:
            return golden
        fields = ("names", "observations", "case_seconds")
        chosen = {name: tuple(getattr(golden, name)[number] for number in trial.cases) for name in fields}
        edge = frozenset(place for place, number in enumerate(trial.cases) if number in golden.edge)
        return golden.model_copy(update={**chosen, "edge": edge})

    def _result(self, trial: Trial, outcome: Outcome) -> TrialResult:
        golden = self._golden(trial)
        if outcome.broken is not None:
            return TrialResult(golden.names, False, (None,), outcome)
        rejected_by: list[str] = []
        margins: list[float | None] = []
        correct = True
        for number, (name, case) in enumerate(zip_longest(golden.names, outcome.cases)):
            factor = self._factor(trial, number, case)
            margins.append(factor)
            if _rejects(factor):
                rejected_by.append(name or "a case too many")
                correct = correct and number in golden.edge
        return TrialResult(tuple(rejected_by), correct, tuple(margins), outcome)

    def _factor(self, trial: Trial, place: int, case: CaseOutcome | None) -> float | None:
        """Return the margin of a case in a trial; None if it has no observation or differs beyond any tolerance."""
        golden = self.goldens[trial.seed]
        numbers = range(len(golden.names)) if trial.cases is None else trial.cases
        if place >= len(numbers) or case is None or case.status != "observed":
            return None
        if golden.observations[numbers[place]] == case.payload:
            return 0.0
        try:
            return margin(golden.decoded[numbers[place]], decode(case.payload), self.task.bounds)
        except ValueError:
            return None


def _rejects(factor: float | None) -> bool:
    return factor is None or factor > 1


def worst(margins: Iterable[float | None]) -> float | None:
    """Return the largest margin. None (a difference that no tolerance allows) counts as larger than any number."""
    largest = max((math.inf if item is None else item for item in margins), default=0.0)
    return None if largest == math.inf else round(largest, 6)


def least(margins: Iterable[float | None]) -> float | None:
    """Return the smallest margin. None (a difference that no tolerance allows) counts as larger than any number."""
    smallest = min((math.inf if item is None else item for item in margins), default=math.inf)
    return None if smallest == math.inf else round(smallest, 6)
