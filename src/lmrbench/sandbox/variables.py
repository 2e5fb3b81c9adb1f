"""The interpreter and the environment variables of sandboxed processes, and the fingerprint of their environment."""

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
    """Return the path of the Python interpreter that runs lmrbench, with symbolic links resolved."""
    return Path(os.path.realpath(sys.executable))


def variables(python_path: Iterable[str], home: str) -> dict[str, str]:
    """Return all environment variables of a worker, with a fixed locale, time zone, hash seed and number of threads.

    Args:
        python_path: The folders from which the worker imports modules.
        home: The home folder of the worker, also used for temporary files.
    """
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
    """Return the SHA-256 digest of the worker program, its interpreter options and its environment variables."""
    digest = hashlib.sha256(json.dumps([WORKER_PROGRAM.name, INTERPRETER_OPTIONS, variables((), "")]).encode())
    for file in sorted(WORKER_PROGRAM.glob("*.py")):
        digest.update(f"\0{file.name}\0".encode() + file.read_bytes())
    return digest.hexdigest()


def fingerprint(imports: Iterable[str], environment: Path | None = None) -> dict[str, str]:
    """Return the facts on which a task's results depend: the harness, Python, the machine and the packages' versions.

    Args:
        imports: The packages that the task imports. The result contains their versions and those of the packages that
            they require.
        environment: The folder that the packages come from; None for the installation of lmrbench.
    """
    return {
        "harness": harness_digest()[:16],
        "python": platform.python_version(),
        "machine": f"{platform.system()}-{platform.machine()}",
        **({} if environment is None else {"environment": lock_digest(environment)[:16]}),
        **versions(imports, environment),
    }
