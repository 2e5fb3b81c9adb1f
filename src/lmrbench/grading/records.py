"""The records of grading: verdicts and grades."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, ClassVar, Literal, NamedTuple

from lmrbench.records import Migration, Part, StoredRecord
from lmrbench.tasks.submission import Answer

Verdict = Literal["match", "mismatch", "error", "timeout", "missing"]
# By which clock time limits are counted. Under "wall", a busy machine could make a right answer time out.
Clock = Literal["wall", "cpu"]


class CaseVerdict(Part):
    """The verdict on one case under one seed.

    Attributes:
        seed: of the cases.
        case: number of the case.
        name: of the case.
        verdict: on the case.
        reason: empty for a match.
        seconds: processor seconds that the case took.
        given: an answer that only raises ValueError, or returns None, matches this case too.
        edge: whether this is an edge case; otherwise it is an ordinary one.
    """

    seed: int
    case: int
    name: str
    verdict: Verdict
    reason: str = ""
    seconds: float = 0.0
    given: bool = False
    edge: bool = False

    @property
    def matches(self) -> bool:
        """Whether the observation is that of the reference."""
        return self.verdict == "match"


class Ratio(Part):
    """What the reference took divided by what an answer took: the median over rounds, with its 95% interval."""

    median: float
    low: float
    high: float


class Timing(Part):
    """Speed and memory of an answer that passes, relative to the reference; see `grading.speed`.

    Attributes:
        speed: above 1 if the answer is faster than the reference; None if it was not measured.
        memory: above 1 if the answer takes less memory; None if it was not measured.
        rounds: number of measurements.
        golden_seconds: seconds of the reference, the median over rounds.
        golden_mb: megabytes of the reference, the median over rounds.
        reason: why there is no speed; empty if there is.
    """

    speed: Ratio | None = None
    memory: Ratio | None = None
    rounds: int = 0
    golden_seconds: float = 0.0
    golden_mb: float = 0.0
    reason: str = ""


class GradeTerms(NamedTuple):
    """All that a verdict depends on: grades with the same terms are interchangeable.

    Attributes:
        system: who answered.
        task: what was answered.
        sample: number of the answer.
        candidate_digest: digest of the repository that was observed.
        task_digest: of `tasks.digests.grading_digest`.
        seeds: of the cases.
        sandbox: the back end.
        environment: digest of the harness, the machine and the packages that the task imports.
    """

    system: str
    task: str
    sample: int
    candidate_digest: str
    task_digest: str
    seeds: tuple[int, ...]
    sandbox: str
    environment: str


def _by_the_wall_clock(grade: dict[str, Any]) -> dict[str, Any]:
    """Mark the time limits of a grade as wall-clock time, which they were up to schema 2."""
    return grade | {"clock": "wall"}


def without_edge_cases(grade: dict[str, Any]) -> dict[str, Any]:
    """Call a grade correct and robust if it passed: up to schema 3 no case was an edge case."""
    names = {"passed": ("correct", "robust")}
    return {new: value for key, value in grade.items() for new in names.get(key, (key,))}


class Grade(StoredRecord):
    """The grade of one submission: correct if every ordinary case under every seed matches, robust if all cases do.

    Attributes:
        system: who answered.
        task: what was answered.
        sample: number of the answer.
        label: name of the answer in tables.
        category: of the task.
        correct: whether all ordinary cases match.
        robust: whether all cases match.
        cases: the verdicts.
        seconds: of all jobs, by the clock.
        peak_mb: peak memory of the candidate's process.
        warnings: what of the submission was left out.
        log: the end of what the candidate printed, under the first seed.
        candidate_digest: see `GradeTerms`, as for the next four.
        task_digest: of the task.
        seeds: of the cases.
        sandbox: the back end.
        environment: digest of the environment.
        found: of a forensic task, the share of the changes that were found. Some may have been overlooked unless the
            answer is correct.
        timing: None if it was not measured; no verdict depends on it.
        clock: by which time limits were counted.
    """

    migrations: ClassVar[Mapping[int, Migration]] = {2: _by_the_wall_clock, 3: without_edge_cases}

    system: str
    task: str
    sample: int
    label: str
    category: str
    correct: bool
    robust: bool
    cases: tuple[CaseVerdict, ...]
    seconds: float
    peak_mb: float
    warnings: tuple[str, ...]
    log: str
    candidate_digest: str
    task_digest: str
    seeds: tuple[int, ...]
    sandbox: str
    environment: str
    found: float | None = None
    timing: Timing | None = None
    clock: Clock = "cpu"

    @property
    def word(self) -> str:
        """The grade in words."""
        return grade_word(self.correct, self.robust)

    @property
    def answer(self) -> Answer:
        """The answer that was graded."""
        return Answer(self.system, self.task, self.sample)

    @property
    def may_be_the_machines(self) -> bool:
        """Whether a case timed out by the wall clock: a busy machine may have been the reason."""
        return self.clock == "wall" and any(case.verdict == "timeout" for case in self.cases)

    @property
    def terms(self) -> GradeTerms:
        """All that this grade depends on."""
        return GradeTerms(*(getattr(self, name) for name in GradeTerms._fields))

    def blinded(self) -> Grade:
        """Return the grade without what reveals expected values, inputs, or the time of single cases."""
        cases = tuple(case.model_copy(update={"name": "", "reason": "", "seconds": 0.0}) for case in self.cases)
        return self.model_copy(update={"cases": cases, "log": "", "found": None, "timing": None})

    @property
    def matched(self) -> int:
        """The number of cases that match."""
        return sum(case.matches for case in self.cases)

    @property
    def share(self) -> float:
        """The share of the ordinary cases that match, from 0 to 1, without those that an empty answer matches."""
        earned = [case for case in self.cases if not case.given and not case.edge]
        return sum(case.matches for case in earned) / len(earned) if earned else 0.0

    @property
    def first_failure(self) -> CaseVerdict | None:
        """The first case that does not match, and an ordinary one if there is any."""
        return min((case for case in self.cases if not case.matches), key=lambda case: case.edge, default=None)


class Result(NamedTuple):
    """The part of a grade that tables show. It is small, so thousands can be held in memory."""

    answer: Answer
    label: str
    category: str
    correct: bool
    robust: bool
    matched: int
    cases: int
    first_failure: CaseVerdict | None
    seconds: float
    timing: Timing | None
    warnings: tuple[str, ...] = ()

    @classmethod
    def of(cls, item: Grade) -> Result:
        """Return the result of a grade."""
        return cls(
            answer=item.answer,
            label=item.label,
            category=item.category,
            correct=item.correct,
            robust=item.robust,
            matched=item.matched,
            cases=len(item.cases),
            first_failure=item.first_failure,
            seconds=item.seconds,
            timing=item.timing,
            warnings=item.warnings,
        )

    @property
    def system(self) -> str:
        """The system that answered."""
        return self.answer.system

    @property
    def task(self) -> str:
        """The task that was answered."""
        return self.answer.task


def grade_word(correct: bool, robust: bool) -> str:
    """Return a grade in words."""
    return "correct and robust" if robust else "correct, not robust" if correct else "not correct"


def not_submitted(results: Iterable[Result], tasks: Collection[str]) -> dict[str, list[str]]:
    """Return, for each system that lacks any, the tasks that it submitted nothing for."""
    answered: dict[str, set[str]] = {}
    for item in results:
        answered.setdefault(item.system, set()).add(item.task)
    missing = {system: sorted(set(tasks) - its) for system, its in answered.items()}
    return {system: its for system, its in missing.items() if its}
