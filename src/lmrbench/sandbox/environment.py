"""What does a sandboxed process find in its environment? This, and nothing that the host has."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterable
from pathlib import Path

from lmrbench.sandbox.packages import versions

WORKER_PROGRAM = Path(__file__).resolve().parent / "worker_program"
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


def fingerprint(imports: Iterable[str]) -> dict[str, str]:
    """What an observation may depend on besides the code: interpreter, machine and package versions."""
    return {
        "python": platform.python_version(),
        "machine": f"{platform.system()}-{platform.machine()}",
        **versions(imports),
    }
