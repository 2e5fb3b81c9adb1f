"""The `process` back end: a plain process under rlimits and a system-call filter. It hides nothing on the disk.

For machines that have no better one; it must be asked for by name, and every result says that it was used. What it
can't stop is listed in docs/security.md.
"""

from __future__ import annotations

import subprocess
import sysconfig
import tempfile
from collections.abc import Sequence
from pathlib import Path

from lmrbench.sandbox.connection import ProcessConnection
from lmrbench.sandbox.variables import INTERPRETER_OPTIONS, WORKER_PROGRAM, interpreter, variables
from lmrbench.sandbox.warm_worker import WarmWorker


class ProcessSandbox:
    """Starts workers as children of this process, each with a scratch folder of its own."""

    name = "process"
    advice = "Linux on x86_64 or aarch64 is needed"

    def __init__(self, secrets: Sequence[Path] = ()) -> None:
        """secrets: taken as every back end takes them; this one can't hide them."""

    def start(self, imports: Sequence[str], tree: Path | None = None, environment: Path | None = None) -> WarmWorker:
        """Start a worker; it can import whatever is installed here, first of all what the environment holds."""
        scratch = Path(tempfile.mkdtemp(prefix="lmrbench-"))
        own = [sysconfig.get_path(name) for name in ("purelib", "platlib")]
        packages = dict.fromkeys([*([str(environment)] if environment else []), *own])
        process = subprocess.Popen(
            [interpreter(), *INTERPRETER_OPTIONS, "-m", "inside.worker", "--folders", scratch],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=scratch,
            env=variables((str(WORKER_PROGRAM.parent), *packages), str(scratch)),
            start_new_session=True,
        )
        return WarmWorker(self.name, ProcessConnection(process, scratch), imports, tree)
