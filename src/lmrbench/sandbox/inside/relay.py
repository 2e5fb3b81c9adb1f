"""Frames from a child to the host, past the worker's memory: what it held, later children would find there.

The payloads wait in a file without a name until they are whole, so that a child that dies in the middle of one leaves
the host's stream intact.
"""

from __future__ import annotations

import os

from .framing import HEADER, write_all

_BLOCK = 1 << 16


class Relay:
    """Reads frames from the pipe `source`, which must not block, and holds one at a time in the empty file `spool`."""

    def __init__(self, source: int, spool: int) -> None:
        self._source = source
        self._spool = spool
        self._header = b""
        self.held = 0

    def receive(self, limit: int) -> tuple[int, int, int] | None:
        """The kind, case and payload's length of the next frame once it is whole; None until then and at the end.

        Raises OverflowError if it announces more than `limit` bytes.
        """
        try:
            while len(self._header) < HEADER.size:
                more = os.read(self._source, HEADER.size - len(self._header))
                if not more:
                    return None
                self._header += more
            kind, case, length = HEADER.unpack(self._header)
            if length > limit:
                raise OverflowError(f"a frame of {length} bytes is over the limit of {limit}")
            while self.held < length:
                moved = os.splice(self._source, self._spool, min(_BLOCK, length - self.held), offset_dst=self.held)
                if not moved:
                    return None
                self.held += moved
        except BlockingIOError:
            return None
        return kind, case, length

    def payload(self) -> bytes:
        """The payload of the frame received last; only of one that later children may see."""
        return os.pread(self._spool, self.held, 0)

    def forward(self, destination: int) -> None:
        """Write the frame received last to `destination`."""
        write_all(destination, self._header)
        copy(self._spool, 0, self.held, destination)

    def drop(self) -> None:
        """Make room for the next frame."""
        os.ftruncate(self._spool, 0)
        self._header, self.held = b"", 0


def copy(file: int, start: int, count: int, destination: int) -> None:
    """Write `count` bytes of a file from `start` on to a pipe, within the kernel."""
    end = start + count
    while start < end:
        moved = os.sendfile(destination, file, start, end - start)
        if not moved:
            raise OSError("a file shrank while it was sent")
        start += moved
