"""The probe: a trivial check that distinguishes faults of the machine from faults of a candidate.

A candidate is the code that a job grades. The probe runs in the job's worker, with the job's limits: before the worker
runs its first candidate, and after a candidate has died before it returned its first result. If the probe fails, every
candidate would fail, so nothing is scored.
"""

from __future__ import annotations

from dataclasses import replace

from lmrbench.errors import SandboxError
from lmrbench.sandbox.inside.cases import encode_cases
from lmrbench.sandbox.protocol import Cases, Job, Worker

# The memory (in megabytes), open files and disk space that the probe uses: small amounts that any correct answer may
# need. The probe also starts a process.
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
    """Run the probe in a worker.

    Args:
        worker: The worker, which must be alive.
        job: The job whose limits and owner the probe uses.
        memory_mb: The memory that the probe allocates, in megabytes. It is raised to at least `_MEMORY_MB`, and reduced
            to at most half of the job's limit.

    Raises:
        SandboxError: The probe failed; the message says why.
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
        raise SandboxError(f"even a trivial check fails on this machine, so nothing is scored: {said.strip()}")
