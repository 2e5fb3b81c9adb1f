"""The `landlock` back end: workers under rules of the kernel that any process can make for itself.

It needs neither root, nor user namespaces, nor capabilities, so it runs in unprivileged containers, on clusters, and
where an AppArmor profile forbids namespaces. A worker and its children see the system's libraries, the interpreter and
the packages that the tasks import, all read-only, and two small folders that they can write to. Of /proc a candidate
sees its own process alone. docs/security.md says what the back end shares with the host, and what an old kernel lacks.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from lmrbench.errors import SandboxError
from lmrbench.sandbox.backends.bubblewrap import (
    CONFIGURATION,
    FIRST_TO_END,
    LIBRARY_FOLDERS,
    installed_packages,
    new_user,
)
from lmrbench.sandbox.connection import ProcessConnection
from lmrbench.sandbox.inside.landlock import LIST, READ, USE, WRITE, abi
from lmrbench.sandbox.packages import importable_paths
from lmrbench.sandbox.variables import INTERPRETER_OPTIONS, WORKER_PROGRAM, interpreter, variables
from lmrbench.sandbox.warm_worker import WarmWorker

_DEVICES = ("/dev/null", "/dev/full", "/dev/random", "/dev/urandom")
# Libraries choose their code by what cpuinfo says.
_MACHINE = ("/proc/cpuinfo", "/proc/filesystems", "/proc/version")
# From this ABI on, a candidate can send signals only to its own processes.
_BEST_ABI = 6


class LandlockSandbox:
    """Starts workers as children of this process, in a domain of their own."""

    name = "landlock"
    advice = (
        "Linux 5.13 or newer is needed (6.12 or newer to keep candidates from signalling this user's processes), with "
        "landlock among the security modules in /sys/kernel/security/lsm"
    )

    def __init__(self, secrets: Sequence[Path] = ()) -> None:
        """Hide `secrets`, such as the suite's folder, and lmrbench itself from all workers."""
        self.secrets = tuple(path.resolve() for path in (*secrets, WORKER_PROGRAM.parents[1]))

    def start(self, imports: Sequence[str], tree: Path | None = None, environment: Path | None = None) -> WarmWorker:
        """Start a worker, which restricts itself and each of its children; see `protocol.Sandbox`.

        Raises:
            SandboxError: The kernel has no Landlock.
        """
        if not abi():
            raise SandboxError("this kernel has no Landlock, or was started without it")
        scratch = Path(tempfile.mkdtemp(prefix="lmrbench-"))
        folders = [scratch / "tmp", scratch / "shm"]
        user = new_user()
        for folder in folders:
            folder.mkdir()
            if user is not None:
                os.chown(folder, user, user)
        scratch.chmod(0o755)
        packages = scratch / "packages"
        packages.mkdir()
        shown = importable_paths(imports, environment)
        for name, path in shown.items():
            (packages / name).symlink_to(path)
        rules = [*self._rules(), *((str(path), READ) for path in (packages, *shown.values(), WORKER_PROGRAM))]
        rules += [(str(tree), READ)] if tree is not None else []
        rules += [(str(folder), WRITE) for folder in folders]
        (scratch / "rules.json").write_text(json.dumps(rules))
        program = [str(interpreter()), *INTERPRETER_OPTIONS, "-m", "inside.worker", "--folders", *map(str, folders)]
        program += ["--rules", str(scratch / "rules.json"), *([] if user is None else ["--user", str(user)])]
        process = subprocess.Popen(
            [*FIRST_TO_END, *program],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=folders[0],
            env=variables((str(WORKER_PROGRAM.parent), str(packages)), str(folders[0])),
            start_new_session=True,
        )
        return WarmWorker(self.name, ProcessConnection(process, scratch), imports, tree)

    def _rules(self) -> Iterator[tuple[str, int]]:
        """Yield what every worker may read of this machine."""
        system = [Path(folder) for folder in (*LIBRARY_FOLDERS, "/lib", "/lib64", str(Path(sys.base_prefix) / "lib"))]
        hidden = {*self.secrets, *(path for folder in system for path in installed_packages(folder))}
        for folder in system:
            yield from _visible(folder.resolve(), hidden)
        yield from ((path, READ) for path in (str(interpreter()), "/bin", *CONFIGURATION, *_MACHINE))
        yield from ((path, USE) for path in _DEVICES)


def _visible(folder: Path, hidden: Iterable[Path]) -> Iterator[tuple[str, int]]:
    """Yield rules that show a folder without hidden ones below it, of which only the names can be listed."""
    below = [path for path in hidden if path.is_relative_to(folder)]
    if folder in below or not folder.is_dir():
        return
    if not below:
        yield str(folder), READ
        return
    yield str(folder), LIST
    for entry in folder.iterdir():
        if any(path.is_relative_to(entry) for path in below):
            yield from _visible(entry, below)
        else:
            yield str(entry), READ
