"""The `landlock` back end: workers are restricted by Landlock, a kernel feature by which a process restricts itself.

It needs neither root, nor user namespaces, nor capabilities, so it runs in unprivileged containers, on clusters, and
where an AppArmor profile forbids namespaces. A worker and its children can read the system's libraries, the interpreter
and the packages that the tasks import, and write to a folder of their own. In /proc, a candidate (the code that is
graded) can read the entries of its own process, but not those of others. docs/security.md describes the resources that
a worker shares with the host, and the restrictions that an old kernel lacks.
"""

from __future__ import annotations

import json
import os
import shutil
import stat
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
from lmrbench.sandbox.cgroup import new_group
from lmrbench.sandbox.connection import ProcessConnection
from lmrbench.sandbox.inside.landlock import LIST, READ, SCOPES_ABI, TRUNCATE_ABI, USE, WRITE, Access, abi
from lmrbench.sandbox.packages import importable_paths
from lmrbench.sandbox.protocol import Sandbox
from lmrbench.sandbox.variables import INTERPRETER_OPTIONS, WORKER_PROGRAM, interpreter, variables
from lmrbench.sandbox.warm_worker import WarmWorker

_DEVICES = ("/dev/null", "/dev/full", "/dev/random", "/dev/urandom")
# Readable entries of /proc. Libraries read cpuinfo to select code for the processor.
_MACHINE = ("/proc/cpuinfo", "/proc/filesystems", "/proc/version")
# Operations that candidates can't perform if the version of the kernel's Landlock interface (ABI) is below the key.
_LACKS = {
    2: "move files between folders",
    TRUNCATE_ABI: "truncate files by their path",
    SCOPES_ABI: "signal the processes that they start",
}


class LandlockSandbox(Sandbox):
    """Starts workers as children of this process, each in its own Landlock domain."""

    name = "landlock"
    advice = (
        "Linux 5.13 or newer is needed, on x86_64 or aarch64, with landlock among the security modules in "
        "/sys/kernel/security/lsm; a container must allow the system calls of Landlock"
    )

    def __init__(self, secrets: Sequence[Path] = ()) -> None:
        """Hide `secrets`, such as the suite's folder, and lmrbench itself from all workers."""
        self.secrets = tuple(path.resolve() for path in (*secrets, WORKER_PROGRAM.parents[1]))
        self.note = _kernel()

    def start(self, imports: Sequence[str], tree: Path | None = None, environment: Path | None = None) -> WarmWorker:
        """Start a worker, which restricts itself and each of its children; see `protocol.Sandbox`.

        Raises:
            SandboxError: The kernel has no Landlock.
        """
        if not abi():
            raise SandboxError("this kernel has no Landlock, or was started without it")
        shown = importable_paths(imports, environment)
        scratch = Path(tempfile.mkdtemp(prefix="lmrbench-"))
        writable, packages = scratch / "tmp", scratch / "packages"
        writable.mkdir(mode=0o700)
        packages.mkdir()
        for name, path in shown.items():
            (packages / name).symlink_to(path)
        user = new_user()
        if user is not None and tree is not None and not _is_open(str(tree)):
            # `tree` is in lmrbench's cache, whose folders the worker's user can't enter. The option --reads-all does
            # not always help: in a container, even root may lack the capability to read all files. So the files of
            # `tree` are linked into the worker's own folder.
            tree = Path(shutil.copytree(tree, scratch / "tree", copy_function=_link))
        readable = [*map(str, (packages, WORKER_PROGRAM, *shown.values(), *([] if tree is None else [tree])))]
        rules = [*self._rules(), *(Access(path, READ) for path in readable), Access(str(writable), WRITE)]
        (scratch / "rules.json").write_text(json.dumps(rules))
        program = [str(interpreter()), *INTERPRETER_OPTIONS, "-m", "inside.worker", "--folders", str(writable)]
        program += ["--rules", str(scratch / "rules.json")]
        if user is not None:
            os.chown(writable, user, user)
            scratch.chmod(0o711)
            packages.chmod(0o755)
            program += ["--user", str(user)]
            if not all(map(_is_open, (*readable, str(interpreter()), sys.base_prefix))):
                program.append("--reads-all")
        group = new_group()
        command = [*FIRST_TO_END, *program]
        process = subprocess.Popen(
            group.command(command) if group else command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=writable,
            env=variables((str(WORKER_PROGRAM.parent), str(packages)), str(writable)),
            start_new_session=True,
        )
        return WarmWorker(self.name, ProcessConnection(process, scratch, group), imports, tree)

    def _rules(self) -> Iterator[Access]:
        """Yield the rules for the files of this machine that every worker may use."""
        system = [Path(folder) for folder in (*LIBRARY_FOLDERS, "/lib", "/lib64", str(Path(sys.base_prefix) / "lib"))]
        hidden = {*self.secrets, *(path for folder in system for path in installed_packages(folder))}
        for folder in system:
            yield from _visible(folder.resolve(), hidden)
        yield from (Access(path, READ) for path in (str(interpreter()), "/bin", *CONFIGURATION, *_MACHINE))
        yield from (Access(path, USE) for path in _DEVICES)


def _visible(folder: Path, hidden: Iterable[Path]) -> Iterator[Access]:
    """Yield rules that make a folder readable, except for the hidden folders inside it.

    The names of the hidden folders can still be listed.
    """
    below = [path for path in hidden if path.is_relative_to(folder)]
    if folder in below or not folder.is_dir():
        return
    if not below:
        yield Access(str(folder), READ)
        return
    yield Access(str(folder), LIST)
    for entry in folder.iterdir():
        if any(path.is_relative_to(entry) for path in below):
            yield from _visible(entry, below)
        else:
            yield Access(str(entry), READ)


def _link(source: str, to: str) -> None:
    """Make a hard link, or a copy if the folders are on different file systems."""
    try:
        os.link(source, to)
    except OSError:
        shutil.copy2(source, to)


def _is_open(path: str) -> bool:
    """Return whether every user can read a file or folder."""
    place = Path(path)
    reads = stat.S_IROTH | (stat.S_IXOTH if place.is_dir() else 0)
    return place.stat().st_mode & reads == reads and all(
        parent.stat().st_mode & stat.S_IXOTH for parent in place.resolve().parents
    )


def _kernel() -> str:
    """Return a note on the kernel's Landlock ABI and on the operations that candidates can't perform with it."""
    version = abi()
    lacks = [what for since, what in _LACKS.items() if version < since]
    return f"Landlock ABI {version}" + (f": candidates cannot {', or '.join(lacks)}" if lacks else "")
