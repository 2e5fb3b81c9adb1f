"""Which sandboxes work on this machine, and what would make the others work? Found out by running something in each."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lmrbench.errors import SandboxError
from lmrbench.sandbox.bubblewrap import BubblewrapSandbox
from lmrbench.sandbox.process import ProcessSandbox
from lmrbench.sandbox.protocol import Job, Sandbox
from lmrbench.sandbox.warm_worker import WarmWorker
from lmrbench.tasks.model import Limits

SANDBOXES = ("bubblewrap", "process")

_ADVICE = {
    "bubblewrap": "install bubblewrap 0.8 or newer (apt-get install bubblewrap); as a user other than root, user "
    "namespaces must be allowed (sysctl kernel.unprivileged_userns_clone=1, or an AppArmor profile for bwrap)",
    "process": "Linux on x86_64 or aarch64 is needed",
}
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


def make_sandbox(name: str, secrets: Sequence[Path]) -> Sandbox:
    """The sandbox of that name; `secrets` are folders that it must not show. Raises SandboxError for another name."""
    if name == "bubblewrap":
        return BubblewrapSandbox(secrets)
    if name == "process":
        return ProcessSandbox()
    raise SandboxError(f"there is no sandbox {name!r}; there are {', '.join(SANDBOXES)}")


def diagnose(name: str) -> Diagnosis:
    """Run a function of one line in the sandbox of that name."""
    job = Job("doctor", {"target.py": b"def works():\n    return True\n"}, _CHECK, 0, Limits(), task_seconds=20)
    try:
        worker = WarmWorker(make_sandbox(name, ()), ())
        try:
            outcome = worker.run(job)
        finally:
            worker.close()
    except SandboxError as error:
        return Diagnosis(name, False, str(error), _ADVICE[name])
    if [case.status for case in outcome.cases] != ["observed"]:
        reason = outcome.broken or outcome.cases[0].message
        return Diagnosis(name, False, reason, f"report this, with the output of `{sys.executable} -VV`")
    return Diagnosis(name, True, cgroup=worker.launched.group is not None)
