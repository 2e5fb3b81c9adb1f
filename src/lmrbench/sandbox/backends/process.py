"""The `process` back end: the worker is a plain process under rlimits and a system-call filter. It sees the whole disk.

This back end is for machines on which no other one works. `--sandbox auto` never selects it, and every grade records
its use. docs/security.md lists the attacks that it does not stop.
"""

from __future__ import annotations

import site
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from lmrbench.sandbox.connection import ProcessConnection
from lmrbench.sandbox.protocol import Sandbox
from lmrbench.sandbox.variables import INTERPRETER_OPTIONS, WORKER_PROGRAM, interpreter, variables
from lmrbench.sandbox.warm_worker import WarmWorker


class ProcessSandbox(Sandbox):
    """Starts workers as children of this process, each in a scratch folder of its own."""

    name = "process"
    advice = "Linux on x86_64 or aarch64 is needed"

    def __init__(self, secrets: Sequence[Path] = ()) -> None:
        """Accept `secrets`, but ignore them: this back end can't hide anything."""

    def start(self, imports: Sequence[str], tree: Path | None = None, environment: Path | None = None) -> WarmWorker:
        """Start a worker, which can import all packages that are installed here; see `protocol.Sandbox`."""
        scratch = Path(tempfile.mkdtemp(prefix="lmrbench-"))
        packages = [*([str(environment)] if environment else []), *site.getsitepackages()]
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
