"""Second runs of cases that timed out or were killed from outside lmrbench: select the cases, and merge the outcomes.

In this module, the place of a case is its index in `Job.observed`, the list of the cases that a job runs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from lmrbench.sandbox.protocol import CaseOutcome, Job, Outcome

# The message of a case whose process was killed from outside, for example by the kernel when memory ran out. If the
# sandbox's worker kills a process because of a limit, the message names the limit instead.
_KILLED = "the process was killed by SIGKILL"


def unsettled(outcome: Outcome) -> tuple[int, ...]:
    """Return the places of the cases to run again: those that timed out or were killed from outside.

    If there are any, the result also contains the cases that the first run did not reach. If the worker was lost, or
    the check could not be loaded, the result is empty.
    """
    if outcome.lost or outcome.broken is not None or not any(map(_is_doubtful, outcome.cases)):
        return ()
    return tuple(place for place, case in enumerate(outcome.cases) if _is_doubtful(case) or case.status == "missing")


def repeated(job: Job, places: Sequence[int]) -> Job:
    """Return a copy of the job with only the cases at these places.

    Unlike the job, the copy may stop at the first case that times out.
    """
    seconds = job.case_seconds
    return replace(
        job,
        numbers=tuple(job.observed[place] for place in places),
        case_seconds=None if seconds is None else [seconds[place] for place in places],
        ends_with=_ends_with(job.ends_with, places),
    )


def settled(first: Outcome, places: Sequence[int], second: Outcome) -> Outcome:
    """Merge the outcomes of both runs. For each case that the second run reached, the second result counts.

    Args:
        first: The outcome of the first run, with all cases of the job.
        places: The places of the cases in the second run.
        second: The outcome of the second run.
    """
    cases = list(first.cases)
    for place, case in zip(places, second.cases, strict=True):
        if case.status != "missing":
            cases[place] = case
    return replace(
        first,
        cases=tuple(cases),
        lost=second.lost,
        seconds=first.seconds + second.seconds,
        processor_seconds=first.processor_seconds + second.processor_seconds,
        peak_mb=max(first.peak_mb, second.peak_mb),
    )


def _is_doubtful(case: CaseOutcome) -> bool:
    return case.status == "timeout" or (case.status == "died" and case.message.strip() == _KILLED)


def _ends_with(
    told: Callable[[int, CaseOutcome], bool] | None, places: Sequence[int]
) -> Callable[[int, CaseOutcome], bool]:
    def ends(number: int, case: CaseOutcome) -> bool:
        ended = told is not None and number < len(places) and told(places[number], case)
        return ended or case.status == "timeout"

    return ends
