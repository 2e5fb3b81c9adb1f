"""Tasks for an agent in a container, for verifiers; see the README beside this package."""

from lmrbench.integrations.verifiers import LmrBenchAgentTaskset

__all__ = ["LmrBenchAgentTaskset"]
