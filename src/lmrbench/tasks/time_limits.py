"""How long a submission may take: in processor time, relative to the reference, and as every solver is told."""

from __future__ import annotations

# How many times what the reference took, and at least so many seconds: for a case, and for a whole check.
CASE_SLOWER, CASE_SECONDS = 10.0, 5.0
CHECK_SLOWER, CHECK_SECONDS = 5.0, 30.0
# What waits or sleeps may take so many times as long by the clock.
WALL_FACTOR = 10

STATED = (
    f"Time limit: a case may take {CASE_SLOWER:.0f} times the processor time of the reference, and at least "
    f"{CASE_SECONDS:.0f} s; all cases together {CHECK_SLOWER:.0f} times, and at least {CHECK_SECONDS:.0f} s."
)
