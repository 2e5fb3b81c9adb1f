"""The host's side of templates: processes that import packages once, and fork workers that start with these packages.

The host is lmrbench, outside of the sandbox. A worker is a sandboxed process that runs candidates (the code that is
graded); a template never sees a candidate. Forking a worker takes a few milliseconds. A worker that imported torch
itself would take seconds to start.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import threading
from collections.abc import Callable, Hashable, Sequence
from pathlib import Path
from typing import Any

from lmrbench.errors import SandboxError
from lmrbench.sandbox.cgroup import ControlGroup
from lmrbench.sandbox.connection import kill_with_children

_START_SECONDS = 600.0
_LAST_WORDS_SECONDS = 5.0
_MAX_WORDS = 1 << 16
_MAX_MESSAGE = 1 << 16
# If a back end has more templates than this, idle ones are closed, because each holds its packages in memory.
_KEPT = 6


class CannotForkError(SandboxError):
    """The kernel does not allow a template to fork workers into namespaces of their own."""


class TemplateLostError(SandboxError):
    """A template has ended unexpectedly."""


class ForkedConnection:
    """A connection to a worker that a template has forked; see `connection.Connection`.

    Attributes:
        bounds: The control group of the worker, or None.
        closed: Whether `close` was called.
    """

    def __init__(self, template: Template, worker: int, streams: Sequence[int], bounds: ControlGroup | None) -> None:
        """Take ownership of the descriptors of a worker and of its standard streams; `close` closes them.

        Args:
            template: The template, which must live as long as the worker.
            worker: The descriptor (pidfd) of the worker.
            streams: The host's ends of the worker's standard input, output and error.
            bounds: The control group of the worker, which `close` removes, or None.
        """
        self.bounds = bounds
        self._template = template
        self._worker = worker
        self._stdin, self._stdout, self._stderr = streams
        self.closed = False
        self._lock = threading.Lock()

    def write(self, data: bytes) -> None:
        """Send bytes to the worker's standard input; see `Connection`."""
        view = memoryview(data)
        while view:
            view = view[os.write(self._stdin, view) :]

    def read(self, seconds: float) -> bytes | None:
        """Read from the worker's standard output; see `Connection`."""
        return os.read(self._stdout, 1 << 20) if select.select([self._stdout], [], [], seconds)[0] else None

    def kill(self) -> None:
        """Kill the worker at once. The worker is process 1 of its namespace, so the other processes there die, too."""
        with self._lock:
            if not self.closed:
                with contextlib.suppress(ProcessLookupError):
                    signal.pidfd_send_signal(self._worker, signal.SIGKILL)

    def last_words(self) -> bytes:
        """Return the worker's output on standard error."""
        words = b""
        while len(words) < _MAX_WORDS and select.select([self._stderr], [], [], _LAST_WORDS_SECONDS)[0]:
            if not (more := os.read(self._stderr, 1 << 12)):
                break
            words += more
        return words

    def close(self) -> None:
        """Kill the worker, wait for its end, and remove its control group."""
        self.kill()
        with self._lock:
            if self.closed:
                return
            self.closed = True
        select.select([self._worker], [], [])
        for descriptor in (self._worker, self._stdin, self._stdout, self._stderr):
            os.close(descriptor)
        if self.bounds is not None:
            self.bounds.remove()


class Template:
    """The host's handle to a template process."""

    def __init__(self, command: Sequence[str], imports: Sequence[str]) -> None:
        """Start the process and wait until it has imported the packages.

        Args:
            command: The command line, which runs `inside.template` with a socket as its standard input.
            imports: The packages to import.

        Raises:
            TemplateLostError: The process does not start, or can't import the packages.
        """
        self._workers: list[ForkedConnection] = []
        self._host, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._host.settimeout(_START_SECONDS)
        with theirs:
            self._process = subprocess.Popen(
                command,
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                # A new session, so that Ctrl-C in the terminal reaches only lmrbench and not this process.
                start_new_session=True,
            )
        try:
            self._ask({"imports": list(imports)})
        except BaseException:
            self.close()
            raise

    def fork(self, user: int | None, group: ControlGroup | None) -> ForkedConnection:
        """Fork a worker. Must not be called by several threads at the same time.

        Args:
            user: The user id under which the worker runs, or None for the template's user id.
            group: The control group to put the worker into, or None.

        Raises:
            CannotForkError: The kernel does not allow templates to fork workers into new namespaces.
            TemplateLostError: The template has ended, or the worker ended immediately.
        """
        pipes = [os.pipe(), os.pipe(), os.pipe()]
        theirs = [pipes[0][0], pipes[1][1], pipes[2][1]]
        ours = [pipes[0][1], pipes[1][0], pipes[2][0]]
        try:
            (worker,) = self._ask({"user": user}, theirs)
        except BaseException:
            for descriptor in ours:
                os.close(descriptor)
            raise
        finally:
            for descriptor in theirs:
                os.close(descriptor)
        connection = ForkedConnection(self, worker, ours, group)
        try:
            if group is not None:
                group.add(_number_of(worker))
            # The worker waits for this byte before it starts.
            connection.write(b"\0")
        except OSError as error:
            connection.close()
            raise TemplateLostError(f"a forked worker ended at once: {error}") from error
        self._workers.append(connection)
        return connection

    @property
    def is_idle(self) -> bool:
        """Whether all workers of the template have been closed."""
        self._workers = [worker for worker in self._workers if not worker.closed]
        return not self._workers

    def close(self) -> None:
        """End the template and all its workers. May be called more than once."""
        kill_with_children(self._process)
        self._process.wait()
        self._host.close()
        if self._process.stderr is not None:
            self._process.stderr.close()

    def _ask(self, message: dict[str, object], streams: Sequence[int] = ()) -> list[int]:
        """Send a message, and return the descriptors that come with the answer."""
        try:
            socket.send_fds(self._host, [json.dumps(message).encode()], list(streams))
            data, found, _, _ = socket.recv_fds(self._host, _MAX_MESSAGE, 1)
        except OSError:
            data, found = b"", []
        if not data:
            kill_with_children(self._process)
            assert self._process.stderr is not None
            words = self._process.stderr.read().decode("utf-8", "replace").strip().splitlines()
            raise TemplateLostError(": ".join(["the template process ended", *words[-1:]]))
        answer: dict[str, Any] = json.loads(data)
        if "error" in answer:
            raise CannotForkError(answer["error"])
        return found


class Templates:
    """The templates of a back end. There is one for each kind of worker, that is, for each value of `kind` in `fork`.

    If there are too many templates, idle ones are closed, least recently used first.
    """

    def __init__(self) -> None:
        """Create the collection, without any templates."""
        self._lock = threading.Lock()
        self._starts: dict[Hashable, threading.Lock] = {}
        self._running: dict[Hashable, Template] = {}

    def fork(
        self, kind: Hashable, start: Callable[[], Template], user: int | None, group: ControlGroup | None
    ) -> ForkedConnection:
        """Fork a worker from the template for `kind`, and start that template first if it is not running.

        Args:
            kind: The key of the template: the packages that it imports, and the files that it sees.
            start: A function that starts the template. It is called only if the template is not running.
            user: See `Template.fork`.
            group: See `Template.fork`.

        Raises:
            CannotForkError: The kernel does not allow templates to fork workers into new namespaces.
            SandboxError: The template does not start.
        """
        with self._lock:
            starts = self._starts.setdefault(kind, threading.Lock())
        with starts:
            with contextlib.suppress(TemplateLostError):
                return self._fork(kind, user, group)
            template = start()
            with self._lock:
                self._running[kind] = template
                for old in [item for item in self._running if item != kind and self._running[item].is_idle]:
                    if len(self._running) > _KEPT:
                        self._running.pop(old).close()
            return self._fork(kind, user, group)

    def close(self) -> None:
        """End all templates and their workers."""
        with self._lock:
            for template in self._running.values():
                template.close()
            self._running.clear()

    def _fork(self, kind: Hashable, user: int | None, group: ControlGroup | None) -> ForkedConnection:
        with self._lock:
            template = self._running.pop(kind, None)
            if template is None:
                raise TemplateLostError("the template was not started")
            try:
                worker = template.fork(user, group)
            except TemplateLostError:
                template.close()
                raise
            self._running[kind] = template
            return worker


def _number_of(worker: int) -> int:
    """Return the process id that a process descriptor (pidfd) refers to, as seen from this process's namespace."""
    lines = Path(f"/proc/self/fdinfo/{worker}").read_text("ascii").splitlines()
    return next(int(line.removeprefix("Pid:")) for line in lines if line.startswith("Pid:"))
