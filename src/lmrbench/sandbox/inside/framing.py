"""Frames, the messages between host, worker and child: a fixed header, then a payload whose length is in the header.

The host is lmrbench, outside of the sandbox. The worker runs in the sandbox and forks children, which run the candidate
(the code to grade). Frames carry requests (host to worker), answers (worker to host) and reports (child to worker). If
a report is about a case, the worker reads only its header and passes it on; the host decodes the payload.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from typing import NamedTuple

HEADER = struct.Struct("<BiI")

# Host to worker. PRELOAD names modules to import. REQUEST starts a request. STOP ends the request early.
PRELOAD, REQUEST, STOP = 1, 2, 3
# Worker to host. READY answers PRELOAD; LOG (the end of the children's output) and DONE end a request.
READY, DONE, LOG = 10, 11, 12
# Child to worker. STARTED is sent before any code of the candidate runs. The worker does not pass it on. It is followed
# by one OBSERVED or RAISED per case, or by BROKEN if the check's function `observe` can't be loaded. The worker passes
# these on.
STARTED, OBSERVED, RAISED, BROKEN = 20, 21, 22, 23
# The worker's own reports: TIMED_OUT for a case that ran too long, DIED for a case whose child ended or broke another
# limit, and FAULT if the first child ended before STARTED.
TIMED_OUT, DIED, FAULT = 30, 31, 32


class Frame(NamedTuple):
    """One message.

    Attributes:
        kind: One of the constants of this module.
        case: The index of the case in the request's list of cases; -1 if the frame is not about a case.
        payload: The content, whose form depends on the kind.
    """

    kind: int
    case: int
    payload: bytes


def pack(kind: int, case: int, payload: bytes) -> bytes:
    """Return the bytes of one frame."""
    return HEADER.pack(kind, case, len(payload)) + payload


def write_all(fd: int, data: bytes) -> None:
    """Write all bytes to a descriptor, in several parts if its pipe is full."""
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


class FrameReader:
    """Assembles frames from the bytes of a stream."""

    def __init__(self, limit: int) -> None:
        """Accept payloads of at most `limit` bytes."""
        self._buffer = bytearray()
        self._limit = limit

    def feed(self, data: bytes) -> Iterator[Frame]:
        """Add bytes and yield the frames that they complete.

        Raises:
            ValueError: A header announces a payload that is longer than the limit.
        """
        self._buffer += data
        while len(self._buffer) >= HEADER.size:
            kind, case, length = HEADER.unpack_from(self._buffer)
            if length > self._limit:
                raise ValueError(f"a frame of {length} bytes is over the limit of {self._limit}")
            end = HEADER.size + length
            if len(self._buffer) < end:
                return
            payload = bytes(self._buffer[HEADER.size : end])
            del self._buffer[:end]
            yield Frame(kind, case, payload)
