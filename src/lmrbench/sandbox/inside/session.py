"""Process 1 of the namespace in which an agent works: runs commands and transfers files for the host.

The host (lmrbench, outside of the sandbox) connects to the inherited socket once for each request. A request is a line
of JSON, followed by as many bytes as this line announces. The output of a command is streamed back in frames. If the
host hangs up before the command ends, the command and its process group are killed. Otherwise background processes that
the command started keep running, as in a terminal.
"""

from __future__ import annotations

import argparse
import contextlib
import errno
import json
import os
import resource
import select
import signal
import socket
import stat
import struct
import subprocess
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO

from . import memory
from .confine import SIGNALS, become_user, confine_agent

FRAME = struct.Struct("<BI")
STDOUT, STDERR, ENDED, CONTENT, FAILED = range(1, 6)
SAMPLE_SECONDS = 0.2
# The time to wait until the kernel has freed the memory of killed processes.
_KILL_SECONDS = 0.02
# The limit on open files. It also bounds the pipes whose descriptors are in transit between processes, which /proc does
# not show.
_OPEN_FILES = 8192
# The time for which the output of a command's children is still read after the command has ended.
LINGER_SECONDS = 0.3
_CHUNK = 1 << 16


class CommandServer:
    """Answers each request of the host in a thread of its own, and reaps orphaned processes."""

    def __init__(self) -> None:
        """Start with no commands."""
        # The ids of the processes for which a thread waits. `_reap` must leave them to that thread.
        self.running: set[int] = set()
        self.lock = threading.Lock()

    def answer(self, connection: socket.socket) -> None:
        """Answer the request of one connection."""
        with connection, connection.makefile("rb") as lines:
            try:
                request = json.loads(lines.readline())
                data = lines.read(request["bytes"])
                if request["kind"] == "run":
                    self._run(connection, request, data)
                elif request["kind"] == "write":
                    write_file(request["path"], data)
                    send(connection, ENDED, b"0")
                else:
                    send(connection, CONTENT, read_file(request["path"], request["limit"]))
            except OSError as error:
                with contextlib.suppress(OSError):
                    send(connection, FAILED, errno.errorcode.get(error.errno or 0, "EIO").encode())

    def _run(self, connection: socket.socket, request: dict[str, Any], data: bytes) -> None:
        with self.lock:
            process = subprocess.Popen(
                request["command"],
                cwd=request["cwd"],
                env=request["environment"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
            self.running.add(process.pid)
        try:
            assert process.stdin is not None
            threading.Thread(target=_feed, args=(process.stdin, data), daemon=True).start()
            if _pass_on(process, connection):
                send(connection, ENDED, str(process.returncode).encode())
        except OSError:
            # The host hung up; the command is killed below.
            pass
        finally:
            if process.poll() is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
            with self.lock:
                self.running.discard(process.pid)
            for stream in (process.stdout, process.stderr):
                if stream is not None:
                    stream.close()

    def watch(self, memory_bytes: int, folders: Sequence[str]) -> None:
        """Reap orphans, and kill the largest processes as long as the total memory exceeds the limit. Never returns.

        Args:
            memory_bytes: The limit on the memory of all processes together, in bytes.
            folders: The mount points of file systems in memory. Their files count against the limit as well.
        """
        while True:
            time.sleep(SAMPLE_SECONDS)
            while over := self._excess(memory_bytes, folders):
                # Killing a process also frees the buffers of its pipes, which are closed with its descriptors.
                held = {pid: memory.resident(pid) + memory.of_descriptors(pid) for pid in self._others()}
                for pid in sorted(held, key=held.__getitem__, reverse=True):
                    if over <= 0 or not held[pid]:
                        break
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
                    over -= held[pid]
                self._reap()
                time.sleep(_KILL_SECONDS)
            self._reap()

    def _excess(self, most: int, folders: Sequence[str]) -> int:
        others = self._others()
        most -= memory.of_sockets() + memory.of_other_sockets() + memory.of_terminals() + memory.of_folders(folders)
        most -= sum(map(memory.of_descriptors, others))
        return memory.excess(others, 0, most) if others else 0

    def _others(self) -> list[int]:
        return [int(name) for name in os.listdir("/proc") if name.isdigit() and int(name) != os.getpid()]

    def _reap(self) -> None:
        with self.lock:
            for pid in self._others():
                if pid not in self.running:
                    # A process whose parent is still alive is not a child of this process.
                    with contextlib.suppress(ChildProcessError):
                        os.waitpid(pid, os.WNOHANG)


def send(connection: socket.socket, kind: int, payload: bytes) -> None:
    """Send one frame to the host."""
    connection.sendall(FRAME.pack(kind, len(payload)) + payload)


def write_file(path: str, data: bytes) -> None:
    """Write a regular file, and create its parent folders.

    Raises:
        OSError: The file cannot be written, or the path is a folder or special file (EISDIR).
    """
    file = Path(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    if file.exists() and not file.is_file():
        raise OSError(errno.EISDIR, path)
    file.write_bytes(data)


def read_file(path: str, limit: int) -> bytes:
    """Return the content of a regular file.

    The access time is preserved where possible, so that an agent cannot tell that the host has read its file.

    Raises:
        OSError: The file cannot be read, is not a regular file, or has more than `limit` bytes (EFBIG).
    """
    # Without O_NONBLOCK, opening a named pipe that has no writer would block.
    flags = os.O_RDONLY | os.O_NONBLOCK
    try:
        fd = os.open(path, flags | os.O_NOATIME)
    except PermissionError:
        # O_NOATIME is refused for the file of another user. The file may still be readable.
        fd = os.open(path, flags)
    with os.fdopen(fd, "rb") as file:
        mode = os.fstat(fd).st_mode
        if not stat.S_ISREG(mode):
            raise OSError(errno.EISDIR if stat.S_ISDIR(mode) else errno.EINVAL, path)
        data = file.read(limit + 1)
    if len(data) > limit:
        raise OSError(errno.EFBIG, path)
    return data


def _feed(stream: BinaryIO, data: bytes) -> None:
    with contextlib.suppress(OSError), stream:
        stream.write(data)


def _pass_on(process: subprocess.Popen[bytes], connection: socket.socket) -> bool:
    """Send a command's output to the host until the command has ended; return False if the host hung up first."""
    assert process.stdout is not None
    assert process.stderr is not None
    kinds = {process.stdout.fileno(): STDOUT, process.stderr.fileno(): STDERR}
    exited = os.pidfd_open(process.pid)
    try:
        poll = select.poll()
        for fd in (*kinds, exited):
            poll.register(fd, select.POLLIN)
        poll.register(connection, select.POLLRDHUP)
        until = None
        while kinds and (until is None or time.monotonic() < until):
            for fd, _ in poll.poll(None if until is None else LINGER_SECONDS * 1000):
                if fd == connection.fileno():
                    return False
                if fd == exited:
                    poll.unregister(exited)
                    until = time.monotonic() + LINGER_SECONDS
                elif data := os.read(fd, _CHUNK):
                    send(connection, kinds[fd], data)
                else:
                    poll.unregister(fd)
                    del kinds[fd]
        while process.poll() is None:
            # The command has closed its output but is still running.
            if any(fd == connection.fileno() for fd, _ in poll.poll()):
                return False
            process.poll()
    finally:
        os.close(exited)
    return True


def _end_with_host() -> None:
    # Standard input ends when the host ends. PR_SET_PDEATHSIG is no substitute, because its signal is not delivered to
    # a process of another user.
    while os.read(0, 1):
        pass
    os._exit(0)


def main() -> None:
    """Parse the command line, and answer requests until the host closes standard input or ends."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--socket", type=int, required=True)
    parser.add_argument("--memory-mb", type=int, required=True)
    parser.add_argument("--processes", type=int, required=True)
    parser.add_argument("--file-mb", type=int, required=True)
    parser.add_argument("--folders", nargs="+", required=True)
    parser.add_argument("--user", type=int)
    arguments = parser.parse_args()
    become_user(arguments.user)
    confine_agent()
    # A handler that does nothing is used instead of SIG_IGN, because children would inherit an ignored signal.
    signal.signal(signal.SIGINT, lambda *_: None)
    for kind, limit in (
        (resource.RLIMIT_NPROC, arguments.processes),
        (resource.RLIMIT_FSIZE, arguments.file_mb << 20),
        (resource.RLIMIT_NOFILE, min(_OPEN_FILES, resource.getrlimit(resource.RLIMIT_NOFILE)[1])),
        (resource.RLIMIT_SIGPENDING, SIGNALS),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_MEMLOCK, 0),
    ):
        resource.setrlimit(kind, (limit, limit))
    threading.Thread(target=_end_with_host, daemon=True).start()
    session = CommandServer()
    bounds = arguments.memory_mb << 20, arguments.folders
    threading.Thread(target=session.watch, args=bounds, daemon=True).start()
    listener = socket.socket(fileno=arguments.socket)
    listener.set_inheritable(False)
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=session.answer, args=(connection,), daemon=True).start()


if __name__ == "__main__":
    main()
