"""Which sandboxes work on this machine, and what would make the others work? Found out by running something in each."""

from __future__ import annotations

import sys
from dataclasses import dataclass

from lmrbench.errors import SandboxError
from lmrbench.sandbox.protocol import Job
from lmrbench.sandbox.registry import make_sandbox
from lmrbench.sandbox.warm_worker import WarmWorker
from lmrbench.tasks.model import Limits

_CHECK = """
def cases(seed):
    yield {"name": "works"}

def observe(case):
    from target import works
    return works()
"""


@dataclass(frozen=True)
class Diagnosis:
    """Whether one sandbox works here; if not, what it said and what to do.

    cgroup: whether the kernel counts all that a worker holds, or the worker's watch what it can see.
    """

    name: str
    works: bool
    reason: str = ""
    advice: str = ""
    cgroup: bool = False


def diagnose(name: str) -> Diagnosis:
    """Run a function of one line in the sandbox of that name."""
    job = Job("doctor", {"target.py": b"def works():\n    return True\n"}, _CHECK, 0, Limits(), task_seconds=20)
    sandbox = make_sandbox(name, ())
    try:
        worker = sandbox.start(())
        try:
            outcome = worker.run(job)
        finally:
            worker.close()
    except SandboxError as error:
        return Diagnosis(name, False, str(error), sandbox.advice)
    if [case.status for case in outcome.cases] != ["observed"]:
        reason = outcome.broken or outcome.cases[0].message
        return Diagnosis(name, False, reason, f"report this, with the output of `{sys.executable} -VV`")
    return Diagnosis(name, True, cgroup=isinstance(worker, WarmWorker) and worker.launched.group is not None)
