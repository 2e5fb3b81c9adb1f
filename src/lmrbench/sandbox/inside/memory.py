"""Measure the total memory that the processes of a sandbox use.

It includes the pages of processes, their page tables, and memory that belongs to no process: buffers of sockets, pipes
and terminals, and files in memory.
"""

from __future__ import annotations

import contextlib
import os
import resource
import socket
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

_PAGE = resource.getpagesize()
# The kernel memory of an empty file.
_INODE_BYTES = 2 << 10
# If a user has many pipes, the kernel limits each further pipe to two pages, that is, one page per descriptor.
_DESCRIPTOR_BYTES = _PAGE
_DATAGRAM = b"0002"
# The most that the kernel queues in one direction of a terminal (TTYB_DEFAULT_MEM_LIMIT).
_TERMINAL_BYTES = 640 << 10


def resident(pid: int | str) -> int:
    """Return the anonymous memory of a process in bytes, including shared pages, swapped pages and page tables."""
    return _listed(f"/proc/{pid}/status", b"RssAnon:", b"VmSwap:", b"VmPTE:")


def excess(pids: Sequence[int], before: int, limit: int) -> int:
    """Return the number of bytes by which processes exceed a memory limit; 0 if they do not exceed it.

    Args:
        pids: The ids of the processes. This process is not among them.
        before: The bytes that this process used before it forked the others, which inherited them. They do not count
            against the limit. 0 if this process did not fork the others.
        limit: The bytes that the processes may use in total.
    """
    # This quick count includes a shared page once for each process that shares it. The exact count below is slower,
    # because the kernel has to walk the page tables.
    if sum(map(resident, pids)) <= limit:
        return 0
    # A shared page is divided equally among its processes. So for the pages that the children inherited, each child is
    # charged as much as this process, even if further processes share them.
    inherited = min(len(pids) * _proportional("self"), before)
    return max(0, sum(map(_proportional, pids)) - inherited - limit)


def of_sockets() -> int:
    """Return the bytes that the UNIX sockets of this network namespace could hold if they were full.

    Sockets whose descriptors are in transit between processes are included.
    """
    kinds = [fields[4] for fields in _table("/proc/net/unix")]
    datagrams = kinds.count(_DATAGRAM)
    return of_streams(len(kinds) - datagrams) + datagrams * _most_of_a_datagram_socket() if kinds else 0


def of_streams(count: int) -> int:
    """Return the bytes that `count` UNIX stream sockets could hold if they were full."""
    return count * _most_of_a_stream() if count else 0


def of_other_sockets() -> int:
    """Return the bytes that are queued in the TCP, UDP and netlink sockets of this network namespace."""
    waiting = 0
    for name in ("tcp", "tcp6", "udp", "udp6"):
        with contextlib.suppress(FileNotFoundError):
            for fields in _table(f"/proc/net/{name}"):
                sent, _, received = fields[4].partition(b":")
                waiting += int(sent, 16) + int(received, 16)
    waiting += sum(int(fields[4]) for fields in _table("/proc/net/netlink"))
    # The kernel stores a packet in a block that may be twice as long.
    return 2 * waiting


def of_terminals() -> int:
    """Return the bytes that the pseudo-terminals of this namespace could hold if they were full."""
    return 2 * _TERMINAL_BYTES * sum(name.isdigit() for name in os.listdir("/dev/pts"))


def of_folders(folders: Iterable[str]) -> int:
    """Return the bytes that the files in these folders occupy. Each folder must be a file system in memory."""
    total = 0
    for folder in folders:
        status = os.statvfs(folder)
        blocks, inodes = status.f_blocks - status.f_bfree, status.f_files - status.f_ffree
        total += blocks * status.f_frsize + inodes * _INODE_BYTES
    return total


def of_descriptors(pid: int) -> int:
    """Return the bytes that the pipes of a process could hold, as if each of its descriptors were an end of a pipe."""
    folder = f"/proc/{pid}/fd"
    try:
        # Since Linux 6.2, the size of the folder is the number of descriptors.
        return (os.stat(folder).st_size or len(os.listdir(folder))) * _DESCRIPTOR_BYTES
    except PermissionError:
        return resource.getrlimit(resource.RLIMIT_NOFILE)[1] * _DESCRIPTOR_BYTES
    except OSError:
        return 0


@cache
def _most_of_a_stream() -> int:
    # A socket accepts messages as long as its buffer is not full, and a message may be as long as the whole buffer.
    return 2 * _buffer()


@cache
def _most_of_a_datagram_socket() -> int:
    # The queue can hold one message more than its limit. All of it counts, because it also holds messages from senders
    # that are closed and thus no longer listed.
    return (_most_that_wait() + 1 + 2) * _buffer()


def _most_that_wait() -> int:
    try:
        return int(Path("/proc/sys/net/unix/max_dgram_qlen").read_text())
    except FileNotFoundError:
        # Some kernels show the file only in the first network namespace. A new namespace starts with this value.
        return 10


def _buffer() -> int:
    # A pair of sockets is used, because the system-call filter of Landlock workers refuses single sockets.
    one, other = socket.socketpair()
    with one, other:
        return one.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF)


def _table(path: str) -> list[list[bytes]]:
    """Return the fields of each line of a file except its first line, the header."""
    with open(path, "rb") as file:
        return [line.split() for line in file.readlines()[1:]]


def _proportional(pid: int | str) -> int:
    """Return the same as `resident`, but with each page divided equally among the processes that share it."""
    try:
        pages = _listed(f"/proc/{pid}/smaps_rollup", b"Pss_Anon:", b"SwapPss:", missing=False)
    except OSError:
        # A process that this one may not read is charged in full. For a process that has ended, `resident` returns 0.
        return resident(pid)
    return pages + _listed(f"/proc/{pid}/status", b"VmPTE:")


def _listed(path: str, *names: bytes, missing: bool = True) -> int:
    """Return the sum of the named fields of a /proc file, in bytes.

    If the file can't be read, return 0 if `missing` is true, and raise OSError otherwise.
    """
    try:
        lines = Path(path).read_bytes().splitlines()
    except OSError:
        if missing:
            return 0
        raise
    return sum(int(line.split()[1]) << 10 for line in lines if line.startswith(names))
