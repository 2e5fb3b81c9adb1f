"""The records of grading: verdicts and grades."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Literal, NamedTuple

from lmrbench.records import Part, StoredRecord
from lmrbench.tasks.submission import Answer

Verdict = Literal["match", "mismatch", "error", "timeout", "missing"]
# By which clock time limits are counted. Under "wall", a busy machine could make a right answer time out.
Clock = Literal["wall", "cpu"]


class CaseVerdict(Part):
    """The verdict on one case under one seed.

    Attributes:
        reason: empty for a match.
        seconds: processor seconds that the case took.
        given: an answer that only raises ValueError, or returns None, matches this case too.
    """

    seed: int
    case: int
    name: str
    verdict: Verdict
    reason: str = ""
    seconds: float = 0.0
    given: bool = False


class Ratio(Part):
    """What the golden took over what an answer took: the median over rounds, with its 95% interval."""

    median: float
    low: float
    high: float


class Timing(Part):
    """How fast an answer that passes is, and how much memory it takes, beside the golden; see `grading.speed`.

    speed, memory: above 1 where the answer takes less than the golden; None where there is none, and reason says why.
    rounds: how often both were measured. golden_seconds, golden_mb: what the golden took, the median over rounds.
    """

    speed: Ratio | None = None
    memory: Ratio | None = None
    rounds: int = 0
    golden_seconds: float = 0.0
    golden_mb: float = 0.0
    reason: str = ""


class Terms(NamedTuple):
    """All that a verdict depends on: two grades with the same terms are of the same thing.

    candidate_digest: of the repository that was observed. task_digest: `tasks.digests.grading_digest`. environment: a
    digest of the harness, the machine and the packages that the task imports.
    """

    system: str
    task: str
    sample: int
    candidate_digest: str
    task_digest: str
    seeds: tuple[int, ...]
    sandbox: str
    environment: str


class Grade(StoredRecord):
    """The grade of one submission: passed if every case under every seed matches.

    What it holds for, its terms, is written beside it. log: the end of what the candidate printed, under the first
    seed. found: of a forensic task, the share of the changes that were found, of which some may have been overlooked
    unless it passes. timing: None where it was not measured; no verdict depends on it. clock: by which its time limits
    were counted.
    """

    system: str
    task: str
    sample: int
    label: str
    category: str
    passed: bool
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
    def answer(self) -> Answer:
        """Which answer it is of."""
        return Answer(self.system, self.task, self.sample)

    @property
    def may_be_the_machines(self) -> bool:
        """Whether a case timed out by the wall clock: a busy machine may have been the reason."""
        return self.clock == "wall" and any(case.verdict == "timeout" for case in self.cases)

    @property
    def terms(self) -> Terms:
        """What this grade holds for."""
        return Terms(*(getattr(self, name) for name in Terms._fields))

    def blinded(self) -> Grade:
        """The grade without what tells of expected values, inputs, or how long a candidate took over which case."""
        cases = tuple(case.model_copy(update={"name": "", "reason": "", "seconds": 0.0}) for case in self.cases)
        return self.model_copy(update={"cases": cases, "log": "", "found": None, "timing": None})

    @property
    def matched(self) -> int:
        """How many cases match."""
        return sum(case.verdict == "match" for case in self.cases)

    @property
    def share(self) -> float:
        """The share of the cases that match, from 0 to 1, without those that an empty answer is given."""
        earned = [case for case in self.cases if not case.given]
        return sum(case.verdict == "match" for case in earned) / len(earned) if earned else 0.0

    @property
    def first_failure(self) -> CaseVerdict | None:
        """The first case that does not match."""
        return next((case for case in self.cases if case.verdict != "match"), None)


class Result(NamedTuple):
    """What tables say of a grade: a small part of what it holds, so that thousands can be kept."""

    answer: Answer
    label: str
    category: str
    passed: bool
    matched: int
    cases: int
    first_failure: CaseVerdict | None
    seconds: float
    timing: Timing | None
    warnings: tuple[str, ...] = ()

    @classmethod
    def of(cls, item: Grade) -> Result:
        """Of a grade."""
        return cls(
            answer=item.answer,
            label=item.label,
            category=item.category,
            passed=item.passed,
            matched=item.matched,
            cases=len(item.cases),
            first_failure=item.first_failure,
            seconds=item.seconds,
            timing=item.timing,
            warnings=item.warnings,
        )

    @property
    def system(self) -> str:
        """Whose answer it is."""
        return self.answer.system

    @property
    def task(self) -> str:
        """To which task."""
        return self.answer.task


def not_submitted(results: Iterable[Result], tasks: Collection[str]) -> dict[str, list[str]]:
    """Return, for each system that lacks any, the tasks that it submitted nothing for."""
    answered: dict[str, set[str]] = {}
    for item in results:
        answered.setdefault(item.system, set()).add(item.task)
    missing = {system: sorted(set(tasks) - its) for system, its in answered.items()}
    return {system: its for system, its in missing.items() if its}
