"""Verdicts on the cases of one job, made by comparing a candidate's observations with those of the reference.

The time limit of a case is ten times the processor time of the reference, and at least 5 s. The time limit of a whole
check is five times the processor time of the reference, and at least 30 s.
"""

from __future__ import annotations

from collections.abc import Iterator

from lmrbench.grading.compare import compare
from lmrbench.grading.observe import ReferenceOutputs
from lmrbench.grading.records import CaseVerdict, Verdict
from lmrbench.sandbox.inside.encoding import decode
from lmrbench.sandbox.protocol import CaseOutcome, CaseStatus, Outcome
from lmrbench.tasks.model import CASE_SECONDS, CASE_SLOWER, CHECK_SECONDS, CHECK_SLOWER, Task
from lmrbench.text import printable

# Reasons are cut to this length, because they may quote arbitrarily long text from a candidate.
MOST_CHARACTERS = 4000
NOT_RUN = "not run, since an earlier case had failed"

_VERDICTS: dict[CaseStatus, Verdict] = {"raised": "error", "died": "error", "timeout": "timeout", "missing": "missing"}


class JobVerdicts:
    """Judges the cases of one job. Each observation is compared once, either when it arrives or when the job has ended.

    Args:
        task: The task that the candidate answers.
        seed: The seed of the cases.
        reference: The reference's outputs for this seed.
        fail_fast: Whether all cases after the first failure count as not run.
    """

    def __init__(self, task: Task, seed: int, reference: ReferenceOutputs, fail_fast: bool = False) -> None:
        self.task = task
        self.seed = seed
        self.reference = reference
        self.fail_fast = fail_fast
        self._compared: dict[int, tuple[CaseOutcome, Verdict, str]] = {}

    def fails(self, number: int, case: CaseOutcome) -> bool:
        """Return whether the outcome of a case is a failure; False if the reference has no case with this number."""
        return number < len(self.reference.names) and self._verdict(number, case)[0] != "match"

    def of(self, outcome: Outcome) -> Iterator[CaseVerdict]:
        """Yield the verdict on each case of the reference."""
        if outcome.broken is not None:
            # The reference ran with the same check, so the candidate must have caused the failure.
            yield from all_missing(self.reference, self.seed, outcome.broken.strip())
            return
        failed = False
        for number, name in enumerate(self.reference.names):
            case = outcome.cases[number] if number < len(outcome.cases) else CaseOutcome("missing")
            if self.fail_fast and failed:
                # Some back ends run further cases after a failure. Their outcomes are discarded.
                case = CaseOutcome("missing", message=NOT_RUN)
            verdict, reason = self._verdict(number, case)
            failed = failed or verdict != "match"
            yield CaseVerdict(
                seed=self.seed,
                case=number,
                name=name,
                verdict=verdict,
                reason=reason,
                seconds=case.seconds,
                given=self.reference.given[number],
                edge=number in self.reference.edge,
            )

    def _verdict(self, number: int, case: CaseOutcome) -> tuple[Verdict, str]:
        known = self._compared.get(number)
        if known is None or known[0] is not case:
            # The outcome of a second run of the case replaces that of the first.
            self._compared[number] = known = (case, *self._compare(number, case))
        return known[1:]

    def _compare(self, number: int, case: CaseOutcome) -> tuple[Verdict, str]:
        if case.status != "observed":
            return _VERDICTS[case.status], shortened(case.message) or "no observation arrived"
        try:
            observation = decode(case.payload)
        except ValueError as error:
            return "error", shortened(str(error))
        wanted = self.reference.decoded[number]
        difference = compare(wanted, observation, self.task.bounds)
        return ("mismatch", shortened(difference)) if difference else ("match", "")


def all_missing(reference: ReferenceOutputs, seed: int, reason: str) -> Iterator[CaseVerdict]:
    """Yield the verdict `missing` for every case of a reference, each with the same reason."""
    reason = shortened(reason)
    for number, (name, given) in enumerate(zip(reference.names, reference.given, strict=True)):
        yield CaseVerdict(
            seed=seed,
            case=number,
            name=name,
            verdict="missing",
            reason=reason,
            given=given,
            edge=number in reference.edge,
        )


def check_seconds(reference: ReferenceOutputs) -> float:
    """Return the processor seconds that a candidate may take for all cases together."""
    return max(CHECK_SECONDS, CHECK_SLOWER * reference.seconds)


def case_seconds(reference: ReferenceOutputs) -> list[float]:
    """Return the processor seconds that a candidate may take for each case."""
    return [max(CASE_SECONDS, CASE_SLOWER * seconds) for seconds in reference.case_seconds]


def shortened(text: str) -> str:
    """Return a candidate's text without control characters. The middle of a long text is left out."""
    text = text.strip()
    if len(text) > MOST_CHARACTERS:
        text = f"{text[:500]} ... {text[-MOST_CHARACTERS + 500 :]}"
    return printable(text, lines=True)
