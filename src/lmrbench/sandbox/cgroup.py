"""Control groups (cgroup version 2) for workers, on machines where lmrbench may create them.

A worker is a sandboxed process that runs untrusted code. Its control group accounts for memory that no rlimit counts:
sockets, pipes and kernel tables. If lmrbench's own group delegates the memory and pids controllers, the groups of
workers are created inside it. If it does not, they are created next to it, provided that it has no memory limit:
workers outside of it would escape the limit. If neither works, workers have no group.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lmrbench.tasks.model import Limits

_ROOT = Path("/sys/fs/cgroup")
_PREFIX = "lmrbench-"
_END_SECONDS = 3.0
# Added to a job's limits on processes and memory, to cover bwrap (the program that starts a sandbox), the worker
# itself, and the memory that the kernel needs for each process.
_OWN_PROCESSES = 16
_OWN_BYTES = 64 << 20
_numbers = itertools.count()


@dataclass(frozen=True)
class ControlGroup:
    """The control group of one worker.

    Attributes:
        folder: The folder of the group below /sys/fs/cgroup.
    """

    folder: Path

    def command(self, command: Sequence[str]) -> list[str]:
        """Return a command line that enters the group and then becomes `command`."""
        return ["/bin/sh", "-c", 'echo 0 >"$0" && exec "$@"', str(self.folder / "cgroup.procs"), *command]

    def add(self, process: int) -> None:
        """Move a process into the group.

        Raises:
            OSError: The process can't be moved.
        """
        (self.folder / "cgroup.procs").write_text(str(process))

    def held(self) -> int:
        """Return the memory that the group uses now, in bytes."""
        return int((self.folder / "memory.current").read_text())

    def bound(self, limits: Limits, held: int) -> None:
        """Set the group's limits on memory and processes for a job.

        Args:
            limits: The limits of the job.
            held: The memory that the worker used before the job, in bytes. It is added to the job's limit.
        """
        memory = held + (limits.memory_mb + limits.disk_mb + limits.output_mb << 20) + _OWN_BYTES
        (self.folder / "memory.max").write_text(str(memory))
        (self.folder / "pids.max").write_text(str(limits.processes + _OWN_PROCESSES))

    def remove(self) -> None:
        """Kill the remaining processes of the group, and remove the group.

        If the group can't be removed, a later run of lmrbench removes it.
        """
        with contextlib.suppress(OSError):
            (self.folder / "cgroup.kill").write_text("1")
        end = time.monotonic() + _END_SECONDS
        while time.monotonic() < end:
            try:
                self.folder.rmdir()
            except OSError:
                time.sleep(0.01)
            else:
                return


def new_group() -> ControlGroup | None:
    """Create a control group for a worker.

    Returns:
        The group, or None if lmrbench can't create a group that limits memory and processes.
    """
    for parent in _parents():
        try:
            if not {"memory", "pids"} <= set((parent / "cgroup.subtree_control").read_text().split()):
                continue
            _sweep(parent)
            folder = parent / f"{_PREFIX}{os.getpid()}-{next(_numbers)}"
            folder.mkdir()
        except OSError:
            continue
        group = ControlGroup(folder)
        try:
            swap = folder / "memory.swap.max"
            if swap.exists():
                swap.write_text("0")
            _try_to_enter(group)
        except OSError:
            group.remove()
            continue
        return group
    return None


def _parents() -> list[Path]:
    """Return the groups in which to try to create a worker's group, in order of preference."""
    own = _own()
    if own is None or not (own / "cgroup.subtree_control").exists():
        return []
    # The root cgroup has no memory.max. The process limit of lmrbench's own group need not be checked, because the
    # limit of a worker's group is lower.
    bound = own / "memory.max"
    return [own, own.parent] if bound.exists() and bound.read_text().strip() == "max" else [own]


def _own() -> Path | None:
    """Return the folder of this process's group, or None if cgroup version 2 is not in use."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/cgroup").read_text().splitlines():
            if line.startswith("0::/"):
                return _ROOT / line.removeprefix("0::/")
    return None


def _try_to_enter(group: ControlGroup) -> None:
    """Check that a child process can enter the group.

    Raises:
        OSError: The child cannot enter the group.
    """
    child = os.posix_spawn("/bin/sh", group.command(["/bin/true"]), {}, file_actions=[(os.POSIX_SPAWN_CLOSE, 2)])
    if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) != 0:
        raise PermissionError(group.folder)


def _sweep(parent: Path) -> None:
    """Remove the groups left behind by runs of lmrbench that were killed."""
    for folder in parent.glob(f"{_PREFIX}*"):
        if not Path("/proc", folder.name.removeprefix(_PREFIX).partition("-")[0]).exists():
            with contextlib.suppress(OSError):
                folder.rmdir()
