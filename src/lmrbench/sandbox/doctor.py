"""Which sandboxes work on this machine, and what would make the others work? Found out by running something in each."""

from __future__ import annotations

import sys
from dataclasses import dataclass

from lmrbench.sandbox.inside.cases import encode_cases
from lmrbench.sandbox.protocol import Cases, Job
from lmrbench.sandbox.registry import make_sandbox
from lmrbench.sandbox.warm_worker import WarmWorker
from lmrbench.tasks.model import Limits

_OBSERVE = """
def observe(case):
    from target import works
    return works()
"""


@dataclass(frozen=True)
class Diagnosis:
    """Whether one sandbox works here; if not, what it said and what to do.

    cgroup: whether the kernel counts all that a worker holds, or the worker's watch what it can see; None where that is
    not known.
    """

    name: str
    works: bool
    reason: str = ""
    advice: str = ""
    cgroup: bool | None = None


def diagnose(name: str) -> Diagnosis:
    """Run a function of one line in the sandbox of that name."""
    cases = Cases(("works",), encode_cases([{"name": "works"}]))
    job = Job("doctor", {"target.py": b"def works():\n    return True\n"}, _OBSERVE, cases, Limits(), check_seconds=20)
    advice = ""
    try:
        sandbox = make_sandbox(name, ())
        advice = sandbox.advice
        worker = sandbox.start(())
        try:
            outcome = worker.run(job)
        finally:
            worker.close()
    except Exception as error:
        # That of another package may raise what it likes.
        return Diagnosis(name, False, str(error) or repr(error), advice)
    if [case.status for case in outcome.cases] != ["observed"]:
        reason = (
            outcome.fault
            or outcome.broken
            or "; ".join(case.message for case in outcome.cases)
            or "the worker was lost"
        )
        return Diagnosis(name, False, reason, f"{advice}; or report this, with the output of `{sys.executable} -VV`")
    cgroup = worker.connection.bounds is not None if isinstance(worker, WarmWorker) else None
    return Diagnosis(name, True, cgroup=cgroup)
