"""Tasks of one message and one answer, for verifiers; see the README beside this package."""

from lmrbench.verifiers_tasks import LmrBenchTaskset

__all__ = ["LmrBenchTaskset"]
