"""A group of the kernel's (cgroup, version 2) around a worker, where this machine lets us make one.

It counts what no limit on processes does: sockets, pipes, and the kernel's own tables. Groups are made in the group
that lmrbench runs in, if this hands on memory and processes; otherwise beside it, if it has no bound on memory that a
worker would escape. Where neither works there is none.
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
# For bwrap, the worker, and what the kernel needs for each process.
_OWN_PROCESSES = 16
_OWN_BYTES = 64 << 20
_numbers = itertools.count()


@dataclass(frozen=True)
class Group:
    """The group of one worker."""

    folder: Path

    def command(self, command: Sequence[str]) -> list[str]:
        """A command line that enters the group, and then becomes `command`."""
        return ["/bin/sh", "-c", 'echo 0 >"$0" && exec "$@"', str(self.folder / "cgroup.procs"), *command]

    def held(self) -> int:
        """Bytes that the group holds now."""
        return int((self.folder / "memory.current").read_text())

    def bound(self, limits: Limits, held: int) -> None:
        """Bound what the group may hold by what a job may use, on top of the `held` that the worker had before."""
        memory = held + (limits.memory_mb + limits.disk_mb + limits.output_mb << 20) + _OWN_BYTES
        (self.folder / "memory.max").write_text(str(memory))
        (self.folder / "pids.max").write_text(str(limits.processes + _OWN_PROCESSES))

    def remove(self) -> None:
        """End what is left in the group, and remove it; one that stays is removed by a later run."""
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


def new_group() -> Group | None:
    """A new group, or None where this machine lets us make none that bounds memory and processes."""
    for parent in _parents():
        try:
            if not {"memory", "pids"} <= set((parent / "cgroup.subtree_control").read_text().split()):
                continue
            _sweep(parent)
            folder = parent / f"{_PREFIX}{os.getpid()}-{next(_numbers)}"
            folder.mkdir()
        except OSError:
            continue
        group = Group(folder)
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
    own = _own()
    if own is None or not (own / "cgroup.subtree_control").exists():
        return []
    # The group at the root has no bound, and nothing beside it. A bound on processes hardly matters: ours is lower.
    bound = own / "memory.max"
    return [own, own.parent] if bound.exists() and bound.read_text().strip() == "max" else [own]


def _own() -> Path | None:
    """The folder of the group that this process is in; None where version 2 is not in use."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/cgroup").read_text().splitlines():
            if line.startswith("0::/"):
                return _ROOT / line.removeprefix("0::/")
    return None


def _try_to_enter(group: Group) -> None:
    """Raises OSError where a process of ours may not be moved into the group."""
    child = os.posix_spawn("/bin/sh", group.command(["/bin/true"]), {}, file_actions=[(os.POSIX_SPAWN_CLOSE, 2)])
    if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) != 0:
        raise PermissionError(group.folder)


def _sweep(parent: Path) -> None:
    """Remove groups of runs that were killed."""
    for folder in parent.glob(f"{_PREFIX}*"):
        if not Path("/proc", folder.name.removeprefix(_PREFIX).partition("-")[0]).exists():
            with contextlib.suppress(OSError):
                folder.rmdir()
