"""Diagnose the sandboxes on this machine: check that each can run a job, and give advice if it can't."""

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
    """The state of one sandbox on this machine.

    Attributes:
        name: The name of the sandbox.
        works: Whether the sandbox could run a job.
        reason: Why the sandbox could not run a job; empty if it works.
        advice: Advice to the user if the sandbox could not run a job.
        cgroup: Whether the kernel accounts for all memory of a worker (the process that runs jobs). If it doesn't, the
            worker measures the memory of its processes itself. None if unknown.
        note: Limitations of the sandbox on this machine, if it works.
    """

    name: str
    works: bool
    reason: str = ""
    advice: str = ""
    cgroup: bool | None = None
    note: str = ""


def diagnose(name: str) -> Diagnosis:
    """Check whether a sandbox works, by running a one-line function in it.

    Args:
        name: One of `registry.sandbox_names()`.

    Returns:
        The diagnosis, with advice if the sandbox does not work.
    """
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
        # A back end from another package may raise any exception.
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
    return Diagnosis(name, True, cgroup=cgroup, note=getattr(sandbox, "note", ""))
