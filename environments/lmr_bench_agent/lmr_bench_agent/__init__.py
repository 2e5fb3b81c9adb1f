"""Tasks for an agent in a container, for verifiers; see the README beside this package."""

from lmrbench.verifiers_tasks import LmrBenchAgentTaskset

__all__ = ["LmrBenchAgentTaskset"]
