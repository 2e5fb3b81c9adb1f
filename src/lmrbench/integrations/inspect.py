"""lmrbench's task, scorers and sandbox for the framework Inspect, which finds them by the entry points `inspect_ai`."""

from lmrbench.judging.scoring import judge
from lmrbench.solving.provider import BubblewrapSandboxEnvironment
from lmrbench.solving.scoring import unit_tests
from lmrbench.solving.task import lmr_bench

__all__ = ["BubblewrapSandboxEnvironment", "judge", "lmr_bench", "unit_tests"]
