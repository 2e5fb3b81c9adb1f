"""Measure the processor time of all processes of a candidate, including those that have ended."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")


class ProcessorTime:
    """Adds up the processor time of processes that come and go; call `seconds` often to miss none of them."""

    def __init__(self) -> None:
        # By number and start: the last that was seen of each process.
        self._own: dict[tuple[int, int], int] = {}
        self._most = 0

    def seconds(self, pids: Iterable[int]) -> float:
        """Return the processor seconds of these processes, of their children that ended, and of all seen before.

        A process that waits for its children holds their time; the time of one that nobody waits for is what was seen
        of it last. The larger of both sums counts, and it never falls.
        """
        with_children = 0
        for pid in pids:
            with contextlib.suppress(OSError):
                # The name in the second field may hold spaces and brackets of its own.
                fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
                own, children = sum(map(int, fields[11:13])), sum(map(int, fields[13:15]))
                self._own[pid, int(fields[19])] = own
                with_children += own + children
        self._most = max(self._most, with_children, sum(self._own.values()))
        return self._most / _TICKS
