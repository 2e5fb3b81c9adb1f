"""Create the namespaces of a forked worker inside those of its template: PID, mount, network and IPC namespaces.

A template is a process that has imported packages, and from which workers are forked. The system calls are the same as
those that bwrap makes to start a sandbox, but here the process has already imported its packages.
"""

from __future__ import annotations

import ctypes
import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

_NEWNS, _NEWCGROUP, _NEWIPC, _NEWUSER, _NEWPID, _NEWNET = (
    *(0x20000, 0x2000000, 0x8000000),
    *(0x10000000, 0x20000000, 0x40000000),
)
_RDONLY, _NOSUID, _NODEV, _NOEXEC, _REMOUNT, _BIND = 1, 2, 4, 8, 32, 4096
_PLAIN = _NOSUID | _NODEV
# Entries of /proc that stay visible. Libraries read cpuinfo to select code for the processor.
_KEPT_IN_PROC = {"cpuinfo", "filesystems", "version"}

_libc = ctypes.CDLL(None, use_errno=True)


def leave_namespaces() -> None:
    """Put this process into new namespaces. Its next child becomes process 1 of a new PID namespace.

    If the process is not root, it also gets a user namespace, in which it keeps its user id and may mount file systems.

    Raises:
        OSError: The kernel refuses the change.
    """
    own = _NEWNS | _NEWIPC | _NEWPID | _NEWNET
    if os.geteuid() == 0:
        _call("unshare", own)
        return
    user, group = os.geteuid(), os.getegid()
    _call("unshare", own | _NEWUSER)
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
    Path("/proc/self/gid_map").write_text(f"{group} {group} 1")


def mount_own(folders: Sequence[Path], folder_bytes: int) -> None:
    """Give this process, which is process 1 of new namespaces, its own /proc, writable folders and view of cgroups.

    Args:
        folders: The folders on which empty file systems in memory are mounted.
        folder_bytes: The size limit of each folder.

    Raises:
        OSError: The kernel refuses the change.
    """
    _call("unshare", _NEWCGROUP)
    for folder in folders:
        _mount("tmpfs", folder, _PLAIN, f"mode=1777,size={folder_bytes}")
    _mount("proc", Path("/proc"), _PLAIN | _NOEXEC)
    for entry, is_folder in machine_entries():
        if is_folder:
            _mount("tmpfs", entry, _PLAIN | _RDONLY)
        else:
            _mount("/dev/null", entry, _BIND)
            _mount("/dev/null", entry, _BIND | _REMOUNT | _RDONLY | _NOSUID)
    # With a writable /proc, a process could change its OOM score and reset its peak memory usage.
    _mount("proc", Path("/proc"), _BIND | _REMOUNT | _RDONLY | _PLAIN | _NOEXEC)


def machine_entries() -> Iterator[tuple[Path, bool]]:
    """Yield the machine-wide entries of /proc that must be hidden, and whether each is a folder.

    The counters in these entries would reveal the activity of one sandbox to another.
    """
    for entry in os.scandir("/proc"):
        if entry.name.isdigit() or entry.is_symlink() or entry.name in _KEPT_IN_PROC:
            continue
        if entry.stat().st_mode & stat.S_IROTH:
            yield Path(entry.path), entry.is_dir()


def _mount(source: str, target: Path, flags: int, options: str = "") -> None:
    kind = source.encode() if not flags & _BIND else None
    _call("mount", source.encode(), os.fsencode(target), kind, ctypes.c_ulong(flags), options.encode())


def _call(name: str, *arguments: object) -> None:
    if getattr(_libc, name)(*arguments) != 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{name}: {os.strerror(code)}")
