"""How does the host reach a worker program, and end it? What every way has, and a process of this machine."""

from __future__ import annotations

import contextlib
import os
import select
import subprocess
from pathlib import Path
from typing import Protocol

from lmrbench.sandbox.cgroup import Group
from lmrbench.sandbox.ending import kill_with_children
from lmrbench.tasks.model import Limits


class Bounds(Protocol):
    """What the kernel lets a worker and its children hold together."""

    def held(self) -> int:
        """Bytes that they hold now."""
        ...

    def bound(self, limits: Limits, held: int) -> None:
        """Bound them by what a job may use, on top of the `held` that the worker had before."""
        ...


class Connection(Protocol):
    """The standard streams of a worker program that has been started."""

    @property
    def bounds(self) -> Bounds | None:
        """None where nobody counts for all that it holds."""
        ...

    def write(self, data: bytes) -> None:
        """Send bytes to its standard input. Raises OSError where it is gone."""
        ...

    def read(self, seconds: float) -> bytes | None:
        """Some bytes of its standard output; b"" after the last, None if nothing comes in time."""
        ...

    def kill(self) -> None:
        """End it at once, from any thread."""
        ...

    def last_words(self) -> bytes:
        """What it wrote to its standard error, after `kill`."""
        ...

    def close(self) -> None:
        """End it, and give back what it holds; safe to call twice."""
        ...


class ProcessConnection:
    """A process of this machine. scratch: the folder to remove when it is gone."""

    def __init__(
        self, process: subprocess.Popen[bytes], scratch: Path | None = None, bounds: Group | None = None
    ) -> None:
        self.process = process
        self.scratch = scratch
        self.bounds = bounds

    def write(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def read(self, seconds: float) -> bytes | None:
        assert self.process.stdout is not None
        fd = self.process.stdout.fileno()
        return os.read(fd, 1 << 20) if select.select([fd], [], [], seconds)[0] else None

    def kill(self) -> None:
        kill_with_children(self.process)

    def last_words(self) -> bytes:
        try:
            return self.process.communicate(timeout=5)[1]
        except (subprocess.TimeoutExpired, ValueError):
            return b""

    def close(self) -> None:
        self.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
        if self.bounds is not None:
            self.bounds.remove()
        if self.scratch is not None:
            # Folders that a candidate nested deeply are too much for shutil.rmtree, and it may have locked some.
            for command in (["chmod", "-R", "u+rwx"], ["rm", "-rf"]):
                subprocess.run([*command, "--", self.scratch], stderr=subprocess.DEVNULL, check=False)
