"""The records of grading: verdicts on single cases, and grades of submissions."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, ClassVar, Literal, NamedTuple

from lmrbench.records import Migration, Part, StoredRecord
from lmrbench.tasks.submission import Answer

Verdict = Literal["match", "mismatch", "error", "timeout", "missing"]
# The clock by which time limits are measured. With wall-clock time, a correct answer may time out if the machine is
# busy; processor time (`cpu`) avoids this.
Clock = Literal["wall", "cpu"]


class CaseVerdict(Part):
    """The verdict on one case of one seed.

    Attributes:
        seed: The seed of the case.
        case: The number of the case.
        name: The name of the case.
        verdict: The verdict on the case.
        reason: The reason for the verdict; empty for a match.
        seconds: Processor seconds that the case took.
        given: Whether this case is also matched by an empty answer, in which every function only raises ValueError or
            only returns None.
        edge: Whether this is an edge case; otherwise it is an ordinary one.
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
        """Whether the observation agrees with that of the reference."""
        return self.verdict == "match"


class Ratio(Part):
    """The time or memory of the reference divided by that of an answer: the median over rounds, with a 95% interval."""

    median: float
    low: float
    high: float


class Timing(Part):
    """Speed and memory of a robust answer, relative to the reference; see `grading.speed`.

    Attributes:
        speed: The reference's time divided by the answer's, above 1 if the answer is faster; None if not measured.
        memory: The reference's memory divided by the answer's, above 1 if the answer takes less; None if not measured.
        rounds: The number of rounds that were measured.
        golden_seconds: The median over rounds of the time that the reference took, in seconds.
        golden_mb: The median over rounds of the memory that the reference took, in megabytes.
        reason: Why the speed was not measured; empty if it was.
    """

    speed: Ratio | None = None
    memory: Ratio | None = None
    rounds: int = 0
    golden_seconds: float = 0.0
    golden_mb: float = 0.0
    reason: str = ""


class GradeTerms(NamedTuple):
    """Everything that a grade depends on. Grades with the same terms are interchangeable.

    Attributes:
        system: The system that answered.
        task: The id of the task that was answered.
        sample: The number of the answer among the system's answers to the task.
        candidate_digest: The digest of the repository that was run.
        task_digest: The task's grading digest (`tasks.digests.grading_digest`).
        seeds: The seeds of the cases.
        sandbox: The name of the back end.
        environment: A digest of the harness, Python, the machine and the packages that the task imports.
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
    """Migrate a grade of schema 2 or earlier, whose time limits were in wall-clock time."""
    return grade | {"clock": "wall"}


def without_edge_cases(grade: dict[str, Any]) -> dict[str, Any]:
    """Migrate a grade of schema 3 or earlier, which had no edge cases: `passed` becomes `correct` and `robust`."""
    names = {"passed": ("correct", "robust")}
    return {new: value for key, value in grade.items() for new in names.get(key, (key,))}


class Grade(StoredRecord):
    """The grade of one submission: correct if all ordinary cases of all seeds match, robust if all cases match.

    Attributes:
        system: The system that answered.
        task: The id of the task that was answered.
        sample: The number of the answer among the system's answers to the task.
        label: The name of the answer in tables.
        category: The task's subject, such as `decoding`.
        correct: Whether all ordinary cases match.
        robust: Whether all cases match.
        cases: The verdicts on all cases of all seeds.
        seconds: Wall-clock seconds of all jobs that ran the answer.
        peak_mb: Peak memory of the candidate's process, in megabytes.
        warnings: Messages about parts of the submission that were left out.
        log: The end of the candidate's output in the job of the first seed.
        candidate_digest: See `GradeTerms`.
        task_digest: See `GradeTerms`.
        seeds: See `GradeTerms`.
        sandbox: See `GradeTerms`.
        environment: See `GradeTerms`.
        found: For a forensic task, the share of the changes that were found, which is a lower bound unless the answer
            is correct; None for other tasks.
        timing: The speed and memory of the answer, or None if they were not measured; no verdict depends on them.
        clock: The clock by which time limits were measured.
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
        """Whether a case exceeded a limit on wall-clock time, possibly only because the machine was busy."""
        return self.clock == "wall" and any(case.verdict == "timeout" for case in self.cases)

    @property
    def terms(self) -> GradeTerms:
        """Everything that this grade depends on."""
        return GradeTerms(*(getattr(self, name) for name in GradeTerms._fields))

    def blinded(self) -> Grade:
        """Return a copy of the grade that does not reveal expected values, inputs, or the times of single cases."""
        cases = tuple(case.model_copy(update={"name": "", "reason": "", "seconds": 0.0}) for case in self.cases)
        return self.model_copy(update={"cases": cases, "log": "", "found": None, "timing": None})

    @property
    def matched(self) -> int:
        """The number of cases that match."""
        return sum(case.matches for case in self.cases)

    @property
    def share(self) -> float:
        """The share of ordinary cases that match, from 0 to 1. Cases that an empty answer also matches don't count."""
        earned = [case for case in self.cases if not case.given and not case.edge]
        return sum(case.matches for case in earned) / len(earned) if earned else 0.0

    @property
    def first_failure(self) -> CaseVerdict | None:
        """The first ordinary case that does not match, or else the first edge case that does not; None if all match."""
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
    """Return a grade in words, such as "correct, not robust"."""
    return "correct and robust" if robust else "correct, not robust" if correct else "not correct"


def not_submitted(results: Iterable[Result], tasks: Collection[str]) -> dict[str, list[str]]:
    """Return the tasks that each system did not answer, by system. Systems that answered all tasks are left out."""
    answered: dict[str, set[str]] = {}
    for item in results:
        answered.setdefault(item.system, set()).add(item.task)
    missing = {system: sorted(set(tasks) - its) for system, its in answered.items()}
    return {system: its for system, its in missing.items() if its}
