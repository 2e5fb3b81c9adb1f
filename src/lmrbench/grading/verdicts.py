"""Verdicts on the cases of one job: what a candidate returned, against what the reference returned.

A case may take ten times the processor time of the reference, and at least 5 s; a check five times, and at least 30 s.
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

# A reason may quote text of any length from a candidate.
MOST_CHARACTERS = 4000
NOT_RUN = "not run, since an earlier case had failed"

_VERDICTS: dict[CaseStatus, Verdict] = {"raised": "error", "died": "error", "timeout": "timeout", "missing": "missing"}


class JobVerdicts:
    """Judges the cases of one job. Each observation is compared once, as it arrives or at the end.

    Args:
        task: what the candidate answers.
        seed: of the cases.
        reference: what the reference returned under this seed.
        fail_fast: count the cases after the first failure as not run.
    """

    def __init__(self, task: Task, seed: int, reference: ReferenceOutputs, fail_fast: bool = False) -> None:
        self.task = task
        self.seed = seed
        self.reference = reference
        self.fail_fast = fail_fast
        self._compared: dict[int, tuple[CaseOutcome, Verdict, str]] = {}

    def fails(self, number: int, case: CaseOutcome) -> bool:
        """Return whether a case that just ended fails; False for a number that the reference has no case for."""
        return number < len(self.reference.names) and self._verdict(number, case)[0] != "match"

    def of(self, outcome: Outcome) -> Iterator[CaseVerdict]:
        """Yield the verdict on each case of the reference."""
        if outcome.broken is not None:
            # The reference ran under the same check, so whatever broke it came with the candidate.
            yield from all_missing(self.reference, self.seed, outcome.broken.strip())
            return
        failed = False
        for number, name in enumerate(self.reference.names):
            case = outcome.cases[number] if number < len(outcome.cases) else CaseOutcome("missing")
            if self.fail_fast and failed:
                # A back end may have run it all the same.
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
            # A second run of the case replaces the first.
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
    """Yield the verdict `missing` for every case of a reference, for one reason."""
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
    """Make a candidate's text fit for a terminal and a table: head and tail, without control characters."""
    text = text.strip()
    if len(text) > MOST_CHARACTERS:
        text = f"{text[:500]} ... {text[-MOST_CHARACTERS + 500 :]}"
    return printable(text, lines=True)
