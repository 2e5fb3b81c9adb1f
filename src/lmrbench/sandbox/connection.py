"""Connections from the host to a worker program: the protocol, and its implementation for a process on this machine.

The host is the process of lmrbench that sends jobs. The worker program runs them inside a sandbox.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import time
from pathlib import Path
from typing import Protocol

from lmrbench.sandbox.cgroup import ControlGroup
from lmrbench.tasks.model import Limits

_LAST_WORDS_SECONDS = 5.0
_KILL_SECONDS = 3.0


class WorkerBounds(Protocol):
    """Limits that the kernel enforces on the total memory and number of processes of a worker and its children."""

    def held(self) -> int:
        """Return the memory that the worker and its children use now, in bytes."""
        ...

    def bound(self, limits: Limits, held: int) -> None:
        """Set the limits for a job.

        Args:
            limits: The limits of the job.
            held: The memory that the worker used before the job, in bytes. It is added to the job's limit.
        """
        ...


class Connection(Protocol):
    """The standard streams of a started worker program."""

    @property
    def bounds(self) -> WorkerBounds | None:
        """The kernel's limits on the worker, or None if the kernel does not account for all memory of the worker."""
        ...

    def write(self, data: bytes) -> None:
        """Send bytes to the worker's standard input.

        Raises:
            OSError: The worker is gone.
        """
        ...

    def read(self, seconds: float) -> bytes | None:
        """Read from the worker's standard output.

        Args:
            seconds: The longest time to wait, in seconds.

        Returns:
            Some bytes; b"" at the end of the stream; None if nothing arrives in time.
        """
        ...

    def kill(self) -> None:
        """Kill the worker at once. May be called from any thread."""
        ...

    def last_words(self) -> bytes:
        """Return the worker's output on standard error. `kill` must be called first."""
        ...

    def close(self) -> None:
        """Kill the worker and release its resources. May be called more than once."""
        ...


class ProcessConnection:
    """A connection to a worker that is a process on this machine."""

    def __init__(
        self, process: subprocess.Popen[bytes], scratch: Path | None = None, bounds: ControlGroup | None = None
    ) -> None:
        """Connect to a process.

        Args:
            process: The worker program, with all three standard streams piped.
            scratch: A folder to remove when the connection is closed.
            bounds: The control group of the process. It is also removed when the connection is closed.
        """
        self.process = process
        self.scratch = scratch
        self.bounds = bounds

    def write(self, data: bytes) -> None:
        """Send bytes to the worker's standard input; see `Connection`."""
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def read(self, seconds: float) -> bytes | None:
        """Read from the worker's standard output; see `Connection`."""
        assert self.process.stdout is not None
        fd = self.process.stdout.fileno()
        return os.read(fd, 1 << 20) if select.select([fd], [], [], seconds)[0] else None

    def kill(self) -> None:
        """Kill the worker and its children at once."""
        kill_with_children(self.process)

    def last_words(self) -> bytes:
        """Return the worker's output on standard error."""
        try:
            return self.process.communicate(timeout=_LAST_WORDS_SECONDS)[1]
        except (subprocess.TimeoutExpired, ValueError):
            return b""

    def close(self) -> None:
        """Kill the worker, and remove its control group and its scratch folder."""
        self.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
        if self.bounds is not None:
            self.bounds.remove()
        if self.scratch is not None:
            # shutil.rmtree fails on folders that a candidate has nested deeply or made inaccessible.
            for command in (["chmod", "-R", "u+rwx"], ["rm", "-rf"]):
                subprocess.run([*command, "--", self.scratch], stderr=subprocess.DEVNULL, check=False)


def kill_with_children(process: subprocess.Popen[bytes]) -> None:
    """Kill a process together with all of its descendants.

    Killing only the process would leave its children running in two cases. A worker without a PID namespace does
    not take its children down with it. A bwrap process that was started as root has given up the right to signal a
    child with another user id. A process that has been waited for is not signalled, because its id may have been
    reused.
    """
    if process.returncode is not None:
        return
    # A stopped process can't start further processes. It still adopts the children of its killed descendants, so they
    # are also found below it.
    process.send_signal(signal.SIGSTOP)
    deadline = time.monotonic() + _KILL_SECONDS
    while (found := _living_below(process.pid)) and time.monotonic() < deadline:
        for pid in found:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.001)
    process.kill()


def _living_below(pid: int) -> list[int]:
    """Return the descendants of a process that have not ended."""
    found: list[int] = []
    for listed in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            for child in map(int, listed.read_text("ascii").split()):
                found += _living_below(child)
                if Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX":
                    found.append(child)
    return found
