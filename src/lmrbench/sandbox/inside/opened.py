"""Measure the sockets and unnamed files of the processes of a candidate (the code to grade).

An open socket occupies memory, and an open file whose name was removed occupies disk space. Workers that share the
namespaces of the host use this module, which finds both in /proc.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple


class Opened(NamedTuple):
    """The sockets and unnamed files that processes have open.

    Attributes:
        sockets: The number of sockets.
        unnamed: The size on disk of each open file without a name, in bytes, by inode.
    """

    sockets: int
    unnamed: dict[int, int]


def opened(pids: Iterable[int]) -> Opened:
    """Return the sockets and unnamed files for which processes have open descriptors.

    Raises:
        PermissionError: A process runs a program that may not be read, so its open files are hidden.
    """
    sockets: set[int] = set()
    unnamed: dict[int, int] = {}
    for pid in pids:
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            for entry in _descriptors(pid):
                # Ignore descriptors that were closed meanwhile, or whose process is ending and can't be read any more.
                with contextlib.suppress(OSError):
                    found = entry.stat()
                    if stat.S_ISSOCK(found.st_mode):
                        sockets.add(found.st_ino)
                    elif stat.S_ISREG(found.st_mode) and not found.st_nlink:
                        unnamed[found.st_ino] = found.st_blocks * 512
    return Opened(len(sockets), unnamed)


def _descriptors(pid: int) -> Iterable[os.DirEntry[str]]:
    try:
        return os.scandir(f"/proc/{pid}/fd")
    except PermissionError:
        # Once an ending process has released its memory, its /proc entries belong to root.
        if Path(f"/proc/{pid}/statm").read_bytes().startswith(b"0 "):
            return []
        raise


def mapped(pids: Iterable[int], folders: Sequence[Path]) -> dict[int, int]:
    """Return the size of the mappings of each file whose name was removed from one of these folders.

    The sizes are in bytes, by inode. Mappings of the same file, by one or several of the processes, are added up.
    """
    places = tuple(f"{folder}/".encode() for folder in folders)
    found: dict[int, int] = {}
    for pid in pids:
        with contextlib.suppress(OSError), open(f"/proc/{pid}/maps", "rb") as file:
            for line in file:
                if line.endswith(b" (deleted)\n"):
                    span, _, _, _, inode, path = line.split(maxsplit=5)
                    if path.startswith(places):
                        start, end = (int(part, 16) for part in span.split(b"-"))
                        found[int(inode)] = found.get(int(inode), 0) + end - start
    return found
