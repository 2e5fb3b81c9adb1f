"""Tasks of one message and one answer, for verifiers; see the README beside this package."""

from verifiers.v1.harnesses.null import NullHarness

from lmrbench.integrations.verifiers import LmrBenchTaskset

# The harness is what these tasks are run by where no other is named: it sends the message, and needs no tools.
__all__ = ["LmrBenchTaskset", "NullHarness"]
