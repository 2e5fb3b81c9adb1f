"""A namespace in which an agent works. Its files and processes exist until it is closed.

The namespace is isolated like the sandbox for grading (see `sandbox.backends.bubblewrap`): it has no network except its
own loopback interface, and contains neither the user's home folder nor the suite (the tasks and their solutions). The
system, the interpreter and the packages that the task imports are visible, all read-only. The folders that an agent may
write to are private and in memory. The program `inside.session` runs in the namespace and serves requests on
a Unix socket.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import anyio
from anyio.abc import SocketStream
from anyio.streams.buffered import BufferedByteReceiveStream

from lmrbench.errors import SandboxError
from lmrbench.sandbox.backends.bubblewrap import BubblewrapSandbox, Layout, new_user, with_advice
from lmrbench.sandbox.connection import kill_with_children
from lmrbench.sandbox.inside.session import CONTENT, ENDED, FAILED, FRAME, STDERR, STDOUT
from lmrbench.sandbox.variables import WORKER_PROGRAM, interpreter, variables

WORKSPACE, HOME = "/workspace", "/home/agent"
# The folder on PATH in which agents find Python.
_PYTHON = "/opt/python/bin"
_PATH = f"{_PYTHON}:/usr/local/bin:/usr/bin:/bin"
_SYSTEM = ("/usr/local/bin", "/usr/local/lib", "/usr/sbin", "/usr/share", "/usr/libexec", "/etc/ssl")
_WRITABLE = (WORKSPACE, HOME, "/tmp", "/var/tmp", "/dev/shm")
_FILE_MB = 1024
# Each writable folder may take 1/8 of the memory, so that even full folders leave memory for processes.
_FOLDERS_IN_MEMORY = 8
_END_SECONDS = 10.0


class SessionError(SandboxError):
    """The namespace has ended or did not start."""


@dataclass(frozen=True)
class SessionLimits:
    """Limits on all commands of a session together.

    Attributes:
        memory_mb: maximum memory in MiB, including that of files in memory.
        processes: maximum number of concurrent processes.
    """

    memory_mb: int = 8192
    processes: int = 1024


@dataclass(frozen=True)
class Completed:
    """The result of a command. Only the end of a long output stream is kept."""

    returncode: int
    stdout: bytes
    stderr: bytes


class AgentSession:
    """A namespace that an agent works in.

    Attributes:
        user: the id of the user that commands run as.
        environment: the environment variables of all commands.
    """

    def __init__(
        self,
        imports: Sequence[str],
        secrets: Sequence[Path] = (),
        shown: Sequence[str] = (),
        limits: SessionLimits = SessionLimits(),
        environment: Path | None = None,
    ) -> None:
        """Start the namespace.

        Args:
            imports: the top-level packages that are visible.
            secrets: folders that must not be visible.
            shown: further folders that are visible, read-only.
            limits: limits on all commands together.
            environment: the virtual environment that packages come from; if None, that of lmrbench.

        Raises:
            SandboxError: the namespace can't be set up.
        """
        self._folder = Path(tempfile.mkdtemp(prefix="lmrbench-"))
        self._address = str(self._folder / "socket")
        user = new_user()
        self.user = os.getuid() if user is None else user
        configuration = {
            "passwd": f"agent:x:{self.user}:{self.user}::{HOME}:/bin/bash\n",
            "hosts": "127.0.0.1 localhost\n::1 localhost\n",
        }
        for name, text in configuration.items():
            (self._folder / name).write_text(text, "utf-8")
            (self._folder / name).chmod(0o644)
        layout = Layout(
            imports=imports,
            environment=environment,
            files=[("/worker", WORKER_PROGRAM), *(("/etc", self._folder / name) for name in configuration)],
            writable=_WRITABLE,
            writable_bytes=(limits.memory_mb << 20) // _FOLDERS_IN_MEMORY,
            system=_SYSTEM,
            shown=shown,
            links=[
                *((f"{_PYTHON}/{name}", str(interpreter())) for name in ("python", "python3")),
                *_other_names(interpreter()),
                ("/etc/os-release", "/usr/lib/os-release"),
            ],
            whole_proc=True,
            terminals=True,
        )
        # Shown folders come last on PATH, so that `python3` remains the interpreter of the task.
        path = ":".join([_PATH, *(f"{folder}/bin" for folder in shown)])
        own = {"PATH": path, "TMPDIR": "/tmp", "SHELL": "/bin/bash", "USER": "agent"}
        self.environment = {**variables(("/packages",), HOME), **own}
        try:
            with socket.socket(socket.AF_UNIX) as listener:
                listener.bind(self._address)
                listener.listen(64)
                program = ["-m", "inside.session", "--socket", str(listener.fileno())]
                program += ["--memory-mb", str(limits.memory_mb), "--processes", str(limits.processes)]
                program += ["--file-mb", str(_FILE_MB), "--folders", *_WRITABLE]
                self._process = subprocess.Popen(
                    BubblewrapSandbox(secrets).command(program, layout, variables(("/worker",), HOME), user),
                    stdin=subprocess.PIPE,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.PIPE,
                    pass_fds=[listener.fileno()],
                    start_new_session=True,
                )
        except BaseException:
            shutil.rmtree(self._folder, ignore_errors=True)
            raise

    async def run(
        self,
        command: Sequence[str],
        data: bytes = b"",
        cwd: str = WORKSPACE,
        environment: Mapping[str, str] | None = None,
        limit: int = 10 << 20,
    ) -> Completed:
        """Run a command until it ends. Cancelling the call kills the command.

        Args:
            command: the program and its arguments.
            data: the standard input.
            cwd: the working directory; relative paths start at the workspace.
            environment: further environment variables of the command.
            limit: the maximum number of bytes to keep from the end of each output stream.

        Raises:
            OSError: the command can't be started; the type of the exception is as for `subprocess.run`.
            SessionError: the namespace has ended.
        """
        request = {
            "kind": "run",
            "command": list(command),
            "cwd": _absolute(cwd),
            "environment": {**self.environment, **(environment or {})},
        }
        kept = {STDOUT: bytearray(), STDERR: bytearray()}
        async with self._request(request, data) as frames:
            async for kind, payload in frames:
                if kind == ENDED:
                    return Completed(int(payload), bytes(kept[STDOUT]), bytes(kept[STDERR]))
                kept[kind] += payload
                del kept[kind][: max(0, len(kept[kind]) - limit)]
        raise self._lost()

    async def write(self, path: str, data: bytes) -> None:
        """Write a file and its parent folders.

        Args:
            path: the file; relative paths start at the workspace.
            data: the content.

        Raises:
            OSError: the file can't be written; the type of the exception is as for `open`.
            SessionError: the namespace has ended.
        """
        async with self._request({"kind": "write", "path": _absolute(path)}, data) as frames:
            async for _ in frames:
                return
        raise self._lost()

    async def read(self, path: str, limit: int = 100 << 20) -> bytes:
        """Return the content of a regular file.

        Args:
            path: the file; relative paths start at the workspace.
            limit: the largest size allowed, in bytes.

        Raises:
            OSError: the file can't be read; `errno` is EFBIG if the file exceeds the limit.
            SessionError: the namespace has ended.
        """
        async with self._request({"kind": "read", "path": _absolute(path), "limit": limit}) as frames:
            async for kind, payload in frames:
                if kind == CONTENT:
                    return payload
        raise self._lost()

    def close(self) -> None:
        """End all processes in the namespace. Closing it again has no effect."""
        self._end()
        shutil.rmtree(self._folder, ignore_errors=True)

    @contextlib.asynccontextmanager
    async def _request(
        self, request: Mapping[str, object], data: bytes = b""
    ) -> AsyncIterator[AsyncIterator[tuple[int, bytes]]]:
        try:
            stream = await anyio.connect_unix(self._address)
        except OSError as error:
            raise self._lost() from error
        async with stream:
            with contextlib.suppress(anyio.BrokenResourceError):
                await stream.send(json.dumps({**request, "bytes": len(data)}).encode() + b"\n" + data)
            yield _frames(stream)

    def _lost(self) -> SessionError:
        last = self._end().decode("utf-8", "replace").strip().splitlines()[-1:]
        return SessionError(with_advice(": ".join(["the agent's namespace has ended", *last])))

    def _end(self) -> bytes:
        """End the namespace and return its standard error."""
        if self._process.returncode is not None:
            return b""
        try:
            # Closing the standard input of process 1 ends it, and the namespace with it.
            return self._process.communicate(timeout=_END_SECONDS)[1]
        except subprocess.TimeoutExpired:
            kill_with_children(self._process)
            return b""


async def _frames(stream: SocketStream) -> AsyncIterator[tuple[int, bytes]]:
    """Yield the frames of a response, or raise the OSError that the namespace reports."""
    buffered = BufferedByteReceiveStream(stream)
    with contextlib.suppress(anyio.IncompleteRead, anyio.EndOfStream, anyio.BrokenResourceError):
        while True:
            kind, length = FRAME.unpack(await buffered.receive_exactly(FRAME.size))
            payload = await buffered.receive_exactly(length)
            if kind == FAILED:
                number = getattr(errno, payload.decode("ascii", "replace"), errno.EIO)
                raise OSError(number, os.strerror(number))
            yield kind, payload


def _other_names(python: Path) -> list[tuple[str, str]]:
    """Return the links in an interpreter's folder that point to the interpreter, such as python3, each with its target.

    Virtual environments may refer to the interpreter by such a symbolic link. Nothing is returned for the system's
    interpreters, because the whole of /usr is visible anyway.
    """
    if python.parent.is_relative_to("/usr"):
        return []
    names = sorted(python.parent.glob("python*"))
    return [(str(path), str(python)) for path in names if path.is_symlink() and path.resolve() == python]


def _absolute(path: str) -> str:
    return path if path.startswith("/") else f"{WORKSPACE}/{path}"
