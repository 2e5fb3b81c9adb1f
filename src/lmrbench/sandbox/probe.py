"""A trivial check that tells a machine's faults from a candidate's.

It runs under the limits of a job, in the same worker, before the first candidate and after a death that came before
any observation. What ends the probe ends every candidate, so nothing is scored.
"""

from __future__ import annotations

from dataclasses import replace

from lmrbench.errors import SandboxError
from lmrbench.sandbox.inside.cases import encode_cases
from lmrbench.sandbox.protocol import Cases, Job, Worker

# A little of everything that a right answer may need.
_MEMORY_MB, _FILES, _DISK_BYTES = 16, 32, 1 << 20
_OBSERVE = """
def observe(case):
    import os

    memory = b"\\1" * (case["memory_mb"] << 20)
    files = [os.open(os.devnull, os.O_RDONLY) for _ in range(case["files"])]
    with open("probe", "wb") as file:
        file.write(bytes(case["disk_bytes"]))
    child = os.fork()
    if child == 0:
        os._exit(7)
    return [len(memory), len(files), os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])]
"""
_SECONDS = 30.0


def probe(worker: Worker, job: Job, memory_mb: float = 0) -> None:
    """Run the probe in a worker, under the limits of a job and with its owner.

    Args:
        worker: one that is alive.
        job: whose limits hold.
        memory_mb: what the probe holds at least, up to half of what the job may.

    Raises:
        SandboxError: the probe was not observed; it says why.
    """
    limits = job.limits
    case = {
        "memory_mb": int(min(max(memory_mb, _MEMORY_MB), limits.memory_mb / 2)),
        "files": min(_FILES, limits.open_files // 2),
        "disk_bytes": min(_DISK_BYTES, (limits.disk_mb << 20) // 2),
    }
    trivial = replace(
        job,
        files={},
        observe=_OBSERVE,
        cases=Cases(("probe",), encode_cases([case])),
        check_seconds=_SECONDS,
        case_seconds=None,
        numbers=None,
        ends_with=None,
    )
    outcome = worker.run(trivial)
    if outcome.fault or outcome.broken is not None or outcome.cases[0].status != "observed":
        said = outcome.fault or outcome.broken or outcome.cases[0].message or outcome.cases[0].status
        raise SandboxError(f"this machine ends even a trivial check, so nothing is scored: {said.strip()}")
