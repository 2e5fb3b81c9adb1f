"""Measure the speed and memory of robust answers (those for which all cases match), relative to the reference.

A check may define `timed(seed)`, which yields inputs of realistic size. The reference and the candidate are run on them
in turn, in one worker that is not used for grading. Each round draws new inputs, and the candidate's results must be
correct.

A candidate can forge the times that its own process reports. So the host measures the candidate's whole job, and
subtracts the overhead of a job: the time that the reference's job in the same round spent on anything but its cases.
Memory is the peak that the kernel reports, minus the peak of a job whose `observe` does nothing. A candidate can still
distort its own speed, as docs/security.md explains, so no verdict depends on it.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import median

from lmrbench.grading.candidates import Candidate
from lmrbench.grading.draw import drawn_cases, reference_job
from lmrbench.grading.observe import outputs_of
from lmrbench.grading.records import Ratio, Timing
from lmrbench.grading.verdicts import JobVerdicts
from lmrbench.sandbox.protocol import Cases, Job, Outcome, WorkerPool
from lmrbench.tasks.checks import defines
from lmrbench.tasks.model import CHECK_SECONDS, Task

# With fewer rounds, order statistics give no 95% interval for the median.
LEAST_ROUNDS = 6
MOST_ROUNDS = 30
MOST_SECONDS = 60.0
# The measurement ends early once the upper end of the speed's interval is at most this multiple of the lower end.
NARROW = 1.1
# A candidate's time limit, as a multiple of the reference's time.
SLOWER = 20.0
# If the reference takes less time, nothing is measured, because the noise of starting a job would dominate.
LEAST_GOLDEN_SECONDS = 0.05
# Lower bounds on the measured values, so that the noise of tiny values does not produce extreme ratios.
LEAST_SECONDS = 0.005
LEAST_MB = 8.0

_IDLE = "def observe(case):\n    return None\n"


@dataclass(frozen=True)
class _Round:
    """The time and memory of the reference (golden) and the candidate in one round."""

    golden_seconds: float
    golden_mb: float
    seconds: float
    mb: float


def has_timed_inputs(task: Task) -> bool:
    """Return whether the task's check defines `timed`."""
    return defines(task.files.check, "timed")


def measure(candidate: Candidate, seed: int, pool: WorkerPool) -> Timing:
    """Measure the speed and memory of a robust answer.

    The measurement ends when the interval of the speed is narrow enough, or after `MOST_ROUNDS` or `MOST_SECONDS`, but
    not before `LEAST_ROUNDS`.

    Args:
        candidate: A robust answer to a task with timed inputs.
        seed: The seed of the first round; each further round uses the next integer.
        pool: A pool with a single worker, so that nothing else runs at the same time.

    Returns:
        The ratios of reference to answer with their intervals, or the reason why there are none.

    Raises:
        TaskError: The reference fails on the timed inputs.
        SandboxError: A job could not be run, and the candidate is not at fault.
    """
    task, files = candidate.task, candidate.files
    assert files is not None
    cases = drawn_cases([(task, seed)], pool, "timed")[task.id, seed]
    golden_run = _golden(candidate, seed, cases)
    ((_, idle),) = pool.run([replace(golden_run, observe=_IDLE)])
    ((_, first),) = pool.run([golden_run])
    outputs_of(task, seed, cases, first)
    golden_seconds = _seconds(first)
    if golden_seconds < LEAST_GOLDEN_SECONDS:
        reason = f"the reference takes {golden_seconds:.3f} s on the timed inputs, too little to measure"
        return Timing(golden_seconds=golden_seconds, reason=reason)
    most_seconds = max(CHECK_SECONDS, SLOWER * first.seconds)
    began = time.monotonic()
    rounds: list[_Round] = []
    while not _is_enough(rounds, time.monotonic() - began):
        of_round = (seed + len(rounds)) % 2**31
        cases = drawn_cases([(task, of_round)], pool, "timed")[task.id, of_round]
        golden_run = _golden(candidate, of_round, cases)
        jobs = {"golden": golden_run, "own": replace(golden_run, files=files, check_seconds=most_seconds)}
        # The first job may affect the second, for example through caches, so the order alternates.
        order = list(jobs) if len(rounds) % 2 == 0 else list(jobs)[::-1]
        outcomes = {order[number]: outcome for number, outcome in pool.run([jobs[name] for name in order])}
        golden, own = outcomes["golden"], outcomes["own"]
        outputs = outputs_of(task, of_round, cases, golden)
        for case in JobVerdicts(task, of_round, outputs).of(own):
            if case.verdict != "match":
                reason = f"timed input {case.name or case.case}: {case.verdict}: {case.reason}"
                return Timing(rounds=len(rounds), golden_seconds=golden_seconds, reason=reason)
        golden_seconds = _seconds(golden)
        rounds.append(
            _Round(
                golden_seconds=golden_seconds,
                golden_mb=golden.peak_mb - idle.peak_mb,
                seconds=golden_seconds + own.seconds - golden.seconds,
                mb=own.peak_mb - idle.peak_mb,
            )
        )
    return Timing(
        speed=_speed(rounds),
        memory=_ratio([max(item.golden_mb, LEAST_MB) / max(item.mb, LEAST_MB) for item in rounds]),
        rounds=len(rounds),
        golden_seconds=median(item.golden_seconds for item in rounds),
        golden_mb=median(item.golden_mb for item in rounds),
    )


def _seconds(outcome: Outcome) -> float:
    """Return the wall-clock seconds of all cases together."""
    return sum(case.seconds_by_clock for case in outcome.cases)


def _golden(candidate: Candidate, seed: int, cases: Cases) -> Job:
    # The reference and the candidate are timed in the same worker, so their jobs have the same owner. No grading job
    # has this owner, so the worker is never used for grading.
    return replace(reference_job(candidate.task, seed, cases), owner=f"speed of system {candidate.submission.system}")


def _is_enough(rounds: Sequence[_Round], seconds: float) -> bool:
    if len(rounds) < LEAST_ROUNDS:
        return False
    if len(rounds) >= MOST_ROUNDS or seconds > MOST_SECONDS:
        return True
    speed = _speed(rounds)
    return speed.high <= NARROW * speed.low


def _speed(rounds: Sequence[_Round]) -> Ratio:
    return _ratio([item.golden_seconds / max(item.seconds, LEAST_SECONDS) for item in rounds])


def _ratio(values: Sequence[float]) -> Ratio:
    """Return the median and its 95% interval from order statistics, a method that assumes no distribution."""
    from scipy.stats import quantile_test

    interval = quantile_test(values, p=0.5).confidence_interval(0.95)
    return Ratio(median=median(values), low=float(interval.low), high=float(interval.high))
