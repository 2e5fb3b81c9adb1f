"""The processes of a candidate (the code to grade): find them, kill them, and measure their processor time."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from collections.abc import Iterable
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")
_KILL_SECONDS = 10.0


class ProcessorTime:
    """The total processor time of a changing set of processes.

    `seconds` must be called often: a process that starts and ends between two calls is missed, unless its parent waits
    for it.
    """

    def __init__(self) -> None:
        """Start at zero."""
        # The last measured time of each process, by process id and start time.
        self._own: dict[tuple[int, int], int] = {}
        self._most = 0

    def seconds(self, pids: Iterable[int]) -> float:
        """Return the total processor seconds of these processes, their ended children, and all processes seen earlier.

        The total is computed in two ways. The first sum covers these processes and their ended children; the kernel
        counts a child only once its parent has waited for it. The second sum covers the last measured times of all
        processes seen. The larger sum is returned. The result never decreases.
        """
        with_children = 0
        for pid in pids:
            with contextlib.suppress(OSError):
                fields = stat_fields(pid)
                own, children = sum(map(int, fields[11:13])), sum(map(int, fields[13:15]))
                self._own[pid, int(fields[19])] = own
                with_children += own + children
        self._most = max(self._most, with_children, sum(self._own.values()))
        return self._most / _TICKS


def stat_fields(pid: int) -> list[str]:
    """Return the fields of /proc/PID/stat from the third (the state) on.

    Raises:
        OSError: The process is gone.
    """
    # The second field, the name in brackets, may itself contain spaces and brackets.
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def descendants(own_namespace: bool) -> list[int]:
    """Return the ids of all descendants of this process, including orphans that another descendant adopted.

    Args:
        own_namespace: Whether this process is process 1 of a PID namespace, in which every other process is its
            descendant.
    """
    everyone = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    if own_namespace:
        return [pid for pid in everyone if pid != os.getpid()]
    children: dict[int, list[int]] = {}
    for pid in everyone:
        with contextlib.suppress(OSError):
            children.setdefault(int(stat_fields(pid)[1]), []).append(pid)
    found, below = [], [os.getpid()]
    while below:
        below = [child for pid in below for child in children.get(pid, [])]
        found += below
    return found


def kill_descendants(own_namespace: bool) -> None:
    """Kill all descendants of this process, and wait until they are gone.

    Raises:
        SystemExit: A process was still there after ten seconds.
    """
    deadline = time.monotonic() + _KILL_SECONDS
    while time.monotonic() < deadline:
        if own_namespace:
            # The kernel holds a lock while this call signals all processes, so that a fork bomb can't outrun it.
            with contextlib.suppress(ProcessLookupError):
                os.kill(-1, signal.SIGKILL)
        else:
            for pid in descendants(own_namespace):
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        if not descendants(own_namespace):
            return
        time.sleep(0.001)
    sys.exit("some process of a candidate could not be killed")
