"""For how long was a process ready to run, and kept waiting by a busy machine? That is no fault of its own."""

from __future__ import annotations

import contextlib
from pathlib import Path


def seconds_waited(pid: int) -> float:
    """For how long the first thread of a process has waited for a processor; 0 where the kernel does not tell."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        return int(Path(f"/proc/{pid}/schedstat").read_text().split()[1]) / 1e9
    return 0.0
