"""Landlock: restrict the files, sockets and other processes that a process and its children can reach.

No privilege is needed. Restrictions can only be added: the process and its children form a domain, which they can
neither leave nor widen. Restrictions that the kernel's version of the Landlock interface (ABI) does not support are
left out.
"""

from __future__ import annotations

import ctypes
import os
import stat
from collections.abc import Iterable
from typing import NamedTuple

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_VERSION = 1
_PATH_BENEATH = 1
# The first ABIs that can forbid truncating files by their path (3), and signalling processes outside of the domain (6).
TRUNCATE_ABI, SCOPES_ABI = 3, 6
# Rights on files, and the ABI that introduced each.
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_CHANGES = sum(1 << bit for bit in range(4, 13))
_REFER, _TRUNCATE, _IOCTL_DEV = 1 << 13, 1 << 14, 1 << 15
_FIRST = _EXECUTE | _WRITE_FILE | _READ_FILE | _READ_DIR | _CHANGES
_SINCE = {1: _FIRST, 2: _REFER, TRUNCATE_ABI: _TRUNCATE, 5: _IOCTL_DEV}
# _TCP: the rights to bind and connect TCP sockets. _SCOPES: flags that forbid connections to abstract sockets of
# processes outside of the domain, and signals to such processes.
_TCP, _TCP_ABI = 3, 4
_SCOPES = 3
_OF_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEV

# The rights that a rule can grant. READ: read and execute. LIST: list a folder. USE: read and write existing files.
# WRITE: everything.
READ = _EXECUTE | _READ_FILE | _READ_DIR
LIST = _READ_DIR
USE = _READ_FILE | _WRITE_FILE
WRITE = READ | _WRITE_FILE | _CHANGES | _REFER | _TRUNCATE
# Entries of /proc/PID that get no rule: those that show more than this process, and `task`, whose subfolders contain
# such entries again.
_SHARED = {"net", "task", "mountstats"}

_libc = ctypes.CDLL(None, use_errno=True)


class Access(NamedTuple):
    """A rule: the rights on a path and on everything below it.

    Attributes:
        path: A file or a folder. If it does not exist, the rule is left out.
        rights: A combination (`|`) of `READ`, `LIST`, `USE` and `WRITE`.
    """

    path: str
    rights: int


class _Ruleset(ctypes.Structure):
    _fields_ = (("files", ctypes.c_uint64), ("network", ctypes.c_uint64), ("scopes", ctypes.c_uint64))


# The kernel's structure is packed. This one need not be, because it has padding only after the last field.
class _PathBeneath(ctypes.Structure):
    _fields_ = (("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32))


def abi() -> int:
    """Return the version of this kernel's Landlock interface; 0 if it has no Landlock, or was started without it."""
    version: int = _libc.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(_VERSION))
    return max(version, 0)


def restrict(rules: Iterable[Access]) -> None:
    """Restrict this process and all its children to the paths in `rules` and to their own domain.

    They can no longer use TCP, connect to abstract sockets of outside processes, or signal such processes.

    Args:
        rules: The paths that can still be accessed, with the rights on each.

    Raises:
        OSError: The kernel has no Landlock, or refuses the rules.
    """
    version = abi()
    files = sum(rights for since, rights in _SINCE.items() if since <= version)
    handled = _Ruleset(files, _TCP if version >= _TCP_ABI else 0, _SCOPES if version >= SCOPES_ABI else 0)
    # Older kernels accept only the first fields of the structure.
    size = 8 if version < _TCP_ABI else 16 if version < SCOPES_ABI else 24
    ruleset = _call(_CREATE_RULESET, ctypes.byref(handled), ctypes.c_size_t(size), ctypes.c_uint32(0))
    try:
        for path, rights in rules:
            _allow(ruleset, path, rights & files)
        _call(_RESTRICT_SELF, ctypes.c_int(ruleset), ctypes.c_uint32(0))
    finally:
        os.close(ruleset)


def own_process() -> list[Access]:
    """Return rules that let this process and its children read this process's own entries in /proc."""
    own = f"/proc/{os.getpid()}"
    with os.scandir(own) as entries:
        # Links such as `root` are left out, because a rule for a link would apply to the folder that it leads to.
        names = [entry.name for entry in entries if entry.name not in _SHARED and not entry.is_symlink()]
    return [Access(own, LIST), *(Access(f"{own}/{name}", READ) for name in names)]


def _allow(ruleset: int, path: str, rights: int) -> None:
    try:
        parent = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        if not stat.S_ISDIR(os.fstat(parent).st_mode):
            rights &= _OF_FILES
        if rights:
            rule = _PathBeneath(rights, parent)
            _call(_ADD_RULE, ctypes.c_int(ruleset), ctypes.c_int(_PATH_BENEATH), ctypes.byref(rule), ctypes.c_uint32(0))
    finally:
        os.close(parent)


def _call(number: int, *arguments: object) -> int:
    answer: int = _libc.syscall(number, *arguments)
    if answer < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"Landlock: {os.strerror(code)}")
    return answer
