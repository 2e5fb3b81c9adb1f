"""What does a sandboxed process find in its environment? This, and nothing that the host has."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from lmrbench.sandbox.packages import versions
from lmrbench.sandbox.venvs import lock_digest

WORKER_PROGRAM = Path(__file__).resolve().parent / "inside"
INTERPRETER_OPTIONS = ("-S", "-s", "-B", "-P")


def interpreter() -> Path:
    """The Python that runs lmrbench, without the virtual environment around it."""
    return Path(os.path.realpath(sys.executable))


def variables(python_path: Iterable[str], home: str) -> dict[str, str]:
    """The whole environment of a worker: fixed locale, time zone, hash seed and thread counts."""
    return {
        "PATH": "/usr/bin:/bin",
        "HOME": home,
        "TMPDIR": home,
        "USER": "sandbox",
        "LANG": "C.UTF-8",
        "TZ": "UTC",
        "PYTHONPATH": os.pathsep.join(python_path),
        "PYTHONHASHSEED": "0",
        "MPLBACKEND": "Agg",
        "OMP_NUM_THREADS": "1",
        "OMP_WAIT_POLICY": "passive",
        "MKL_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }


@cache
def harness_digest() -> str:
    """SHA-256 over what runs a check: the worker program, and the interpreter options and variables it is given."""
    digest = hashlib.sha256(json.dumps([WORKER_PROGRAM.name, INTERPRETER_OPTIONS, variables((), "")]).encode())
    for file in sorted(WORKER_PROGRAM.glob("*.py")):
        digest.update(f"\0{file.name}\0".encode() + file.read_bytes())
    return digest.hexdigest()


def fingerprint(imports: Iterable[str], environment: Path | None = None) -> dict[str, str]:
    """What an observation may depend on besides task and seed: harness, interpreter, machine and package versions.

    imports: of one task, so that the fingerprint is the same whichever tasks it is run with. environment: the folder of
    packages that they come from, whose lock file is named; None for lmrbench's own.
    """
    return {
        "harness": harness_digest()[:16],
        "python": platform.python_version(),
        "machine": f"{platform.system()}-{platform.machine()}",
        **({} if environment is None else {"environment": lock_digest(environment)[:16]}),
        **versions(imports, environment),
    }
