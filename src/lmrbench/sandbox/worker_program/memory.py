"""How much memory does a candidate hold over all its processes, beyond what the worker held when it forked?

Counted are the pages of its processes, and what its UNIX sockets may hold, which belongs to no process.
"""

from __future__ import annotations

import contextlib
import resource
import socket
from collections.abc import Sequence
from functools import cache
from pathlib import Path

_PAGE = resource.getpagesize()


def resident(pid: int | str) -> int:
    """Resident anonymous memory of a process in bytes, shared pages included."""
    with contextlib.suppress(OSError):
        _, everything, of_files, *_ = Path(f"/proc/{pid}/statm").read_text().split()
        return (int(everything) - int(of_files)) * _PAGE
    return 0


def exceeds(pids: Sequence[int], before: int, limit: int) -> bool:
    """Whether these processes hold more than `limit` bytes beyond the `before` that this process had alone."""
    # The quick count takes pages shared between processes for as many; the exact one walks the page tables.
    return sum(map(resident, pids)) > limit and sum(map(_proportional, pids)) + _proportional("self") - before > limit


def of_sockets() -> int:
    """Bytes that the UNIX sockets of this network namespace may hold, full or not, and whoever has them open."""
    with open("/proc/net/unix", "rb") as file:
        count = sum(1 for _ in file) - 1
    return count * _most_of_a_socket() if count else 0


@cache
def _most_of_a_socket() -> int:
    # A message may be as long as the buffer, and is taken as long as the buffer is not full.
    with socket.socket(socket.AF_UNIX) as item:
        return 2 * item.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF)


def _proportional(pid: int | str) -> int:
    """Like `resident`, with each page divided by the number of processes that share it."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        # A program that may not be read is charged in full; one that has ended holds nothing.
        return resident(pid)
    return sum(int(line.split()[1]) << 10 for line in lines if line.startswith("Pss_Anon:"))
