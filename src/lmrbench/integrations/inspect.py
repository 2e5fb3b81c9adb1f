"""lmrbench's task, scorers and sandbox for the framework Inspect, which loads them through an entry point."""

from lmrbench.judging.scoring import judge
from lmrbench.solving.provider import BubblewrapSandboxEnvironment
from lmrbench.solving.scoring import unit_tests
from lmrbench.solving.task import lmr_bench

__all__ = ["BubblewrapSandboxEnvironment", "judge", "lmr_bench", "unit_tests"]
