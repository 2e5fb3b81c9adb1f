"""The worker's pipes: `HostChannel` exchanges frames with the host, and `Relay` passes a child's frames on to the host.

Each frame is a message with a header and a payload; see `framing`. Payloads move through files without a name, never
through the worker's memory, because every later child gets a copy of that memory. A payload stays in its file until it
is complete, so that a child that dies in the middle of a frame does not break the stream to the host.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from .framing import HEADER, pack, write_all

_BLOCK = 1 << 16


class HostChannel:
    """The worker's end of the pipes to and from the host."""

    def __init__(self, requests: int, answers: int) -> None:
        """Take over two descriptors: the one to read requests from, and the one to write answers to."""
        self.requests = requests
        self.answers = answers

    def read_frame(self) -> tuple[int, Any] | None:
        """Return the kind and the message of the host's next frame, or None if the host hung up."""
        if not (header := self._read(HEADER.size)):
            return None
        kind, _, length = HEADER.unpack(header)
        return kind, json.loads(self._read(length))

    def move_body(self, count: int, file: int) -> None:
        """Move the next `count` bytes from the host into a file.

        Raises:
            SystemExit: The host hung up.
        """
        while count:
            moved = os.splice(self.requests, file, count)
            if not moved:
                sys.exit("the host hung up")
            count -= moved

    def send(self, kind: int, case: int, payload: bytes) -> None:
        """Send one frame to the host."""
        write_all(self.answers, pack(kind, case, payload))

    def send_tail(self, kind: int, file: int, count: int) -> None:
        """Send one frame with at most the last `count` bytes of a file."""
        size = os.fstat(file).st_size
        tail = min(size, count)
        write_all(self.answers, HEADER.pack(kind, -1, tail))
        _copy(file, size - tail, tail, self.answers)

    def close(self) -> None:
        """Close both descriptors. Each child calls this after the fork, because it must not reach the host."""
        os.close(self.requests)
        os.close(self.answers)

    def _read(self, count: int) -> bytes:
        data = b""
        while len(data) < count:
            if not (more := os.read(self.requests, count - len(data))):
                return b""
            data += more
        return data


class Relay:
    """Reads a child's frames from a pipe, one at a time, and forwards them."""

    def __init__(self, source: int, spool: int) -> None:
        """Set up the relay; `receive` reads from the pipe.

        Args:
            source: The descriptor of the pipe, which must not block.
            spool: The descriptor of an empty file, in which the payload of the current frame is stored.
        """
        self._source = source
        self._spool = spool
        self._header = b""
        self.held = 0

    def receive(self, limit: int) -> tuple[int, int, int] | None:
        """Read as much of the next frame as has arrived.

        Args:
            limit: The largest payload that is accepted, in bytes.

        Returns:
            The kind, case and payload length of the frame; None if the frame is incomplete or the stream has ended.

        Raises:
            OverflowError: The frame announces more than `limit` bytes.
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
        """Return the payload of the received frame. Call this only if later children may see the payload."""
        return os.pread(self._spool, self.held, 0)

    def forward(self, destination: int) -> None:
        """Write the received frame to a descriptor."""
        write_all(destination, self._header)
        _copy(self._spool, 0, self.held, destination)

    def drop(self) -> None:
        """Discard the received frame, to make room for the next."""
        os.ftruncate(self._spool, 0)
        self._header, self.held = b"", 0


def _copy(file: int, start: int, count: int, destination: int) -> None:
    """Copy `count` bytes of a file, from offset `start` on, to a pipe, without reading them into memory."""
    end = start + count
    while start < end:
        moved = os.sendfile(destination, file, start, end - start)
        if not moved:
            raise OSError("a file shrank while it was sent")
        start += moved
