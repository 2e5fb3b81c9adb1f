"""The template program: imports the packages of the tasks once, and forks workers that start with these packages.

A worker is a sandboxed process that runs candidates (the code to grade). The template reads messages from a socket,
which is its standard input. A message either names modules to import, or asks for a worker and comes with three
descriptors, the standard streams of that worker. The template sees neither jobs nor candidates: a worker enters
namespaces of its own and closes the socket before the host sends a job to it. The template ends when the host hangs up,
and all workers end with it.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import json
import os
import socket
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from .confine import refuse_huge_pages
from .namespaces import leave_namespaces, mount_own
from .worker import preload, serve

# Modules to import together with a package. Programs often need them, and importing them takes as long as importing the
# package itself.
_BESIDE = {
    "numpy": ("numpy.ma", "numpy.typing"),
    "scipy": ("scipy.optimize", "scipy.special"),
    "torch": ("torch.optim",),
}
_MAX_MESSAGE = 1 << 16
_HUGE_PAGE = 2 << 20
_MADV_COLLAPSE = 25


class Template:
    """The template's loop over messages."""

    def __init__(self, host: socket.socket, folders: Sequence[Path], folder_bytes: int) -> None:
        """Set up the loop; `serve` runs it.

        Args:
            host: The socket to the host.
            folders: The folders that workers may write to.
            folder_bytes: The size limit of each folder.
        """
        self._host = host
        self._folders = folders
        self._folder_bytes = folder_bytes

    def serve(self) -> None:
        """Answer messages until the host hangs up."""
        while True:
            data, streams, _, _ = socket.recv_fds(self._host, _MAX_MESSAGE, 3)
            if not data:
                return
            message = json.loads(data)
            if streams:
                self._answer(message["user"], streams)
                for stream in streams:
                    os.close(stream)
            else:
                modules = message["imports"]
                preload([*modules, *(beside for name in modules for beside in _BESIDE.get(name, ()))])
                _use_huge_pages()
                refuse_huge_pages()
                self._host.send(b"{}")

    def _answer(self, user: int | None, streams: Sequence[int]) -> None:
        """Fork a worker, and send its process descriptor (pidfd) to the host."""
        _reap()
        numbers, out = os.pipe()
        between = os.fork()
        if between == 0:
            os.close(numbers)
            self._fork(user, streams, out)
        os.close(out)
        with os.fdopen(numbers, encoding="utf-8") as file:
            said = file.read()
        # When the intermediate process has ended, the worker becomes a child of the template.
        os.waitpid(between, 0)
        if not said.isdigit():
            self._host.send(json.dumps({"error": said or "the template could not fork"}).encode())
            return
        worker = os.pidfd_open(int(said))
        socket.send_fds(self._host, [b"{}"], [worker])
        os.close(worker)

    def _fork(self, user: int | None, streams: Sequence[int], out: int) -> NoReturn:
        """Enter new namespaces, fork the worker, and write the worker's process id, or an error message, to `out`."""
        try:
            leave_namespaces()
            worker = os.fork()
            if worker == 0:
                os.close(out)
                self._become_worker(user, streams)
            os.write(out, str(worker).encode())
        except BaseException as error:
            os.write(out, str(error).encode())
        finally:
            os._exit(0)

    def _become_worker(self, user: int | None, streams: Sequence[int]) -> NoReturn:
        """Set up the standard streams, wait for a first byte from the host, and serve the host.

        The host sends this byte after the template has become the parent of this process.
        """
        try:
            for number, stream in enumerate(streams):
                os.dup2(stream, number)
            for descriptor in (self._host.detach(), *streams):
                os.close(descriptor)
            os.setsid()
            os.read(0, 1)
            mount_own(self._folders, self._folder_bytes)
            serve(self._folders, user, own_namespace=True)
        except BaseException as error:
            print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
        finally:
            os._exit(1)


def _use_huge_pages() -> None:
    """Move the memory of this process to huge pages, if the kernel can (Linux 6.1).

    A fork copies a page-table entry for each page, and the exit of the child removes these entries. With torch
    imported, there are 50,000 small pages. Copying and removing their entries takes up most of the time of a short job.
    """
    libc = ctypes.CDLL(None)
    for line in Path("/proc/self/maps").read_text().splitlines():
        place, access, _, _, _, *name = line.split()
        if access.startswith("rw") and name in ([], ["[heap]"]):
            start, end = (int(number, 16) for number in place.split("-"))
            first, last = -(-start // _HUGE_PAGE) * _HUGE_PAGE, end // _HUGE_PAGE * _HUGE_PAGE
            if first < last:
                libc.madvise(ctypes.c_void_p(first), ctypes.c_size_t(last - first), _MADV_COLLAPSE)


def _reap() -> None:
    """Reap workers that have ended."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def main() -> None:
    """Parse the command line and serve the host."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folders", type=Path, nargs="+", required=True)
    parser.add_argument("--folder-bytes", type=int, required=True)
    arguments = parser.parse_args()
    host = socket.socket(fileno=os.dup(0))
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.close(nothing)
    Template(host, arguments.folders, arguments.folder_bytes).serve()


if __name__ == "__main__":
    main()
