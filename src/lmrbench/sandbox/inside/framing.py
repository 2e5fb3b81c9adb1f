"""How do host and worker talk? In frames over a pipe: a fixed header, then a payload of the length it states.

The same frames carry the requests (host to worker), the answers (worker to host) and what the process that runs the
candidate reports (child to worker). The worker looks at headers only; a payload is opaque until the host decodes it.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from typing import NamedTuple

HEADER = struct.Struct("<BiI")

# Host to worker; STOP ends a request before its last case.
PRELOAD, REQUEST, STOP = 1, 2, 3
# Worker to host: READY ends the start; LOG, the end of what the children printed, and DONE end a request.
READY, DONE, LOG = 10, 11, 12
# Child to worker: STARTED before any code of the candidate runs; then, passed on to the host, one OBSERVED or RAISED a
# case.
STARTED, OBSERVED, RAISED, BROKEN = 20, 21, 22, 23
# The worker's own word on a case: it ran too long, it died, it broke a bound. FAULT: the child ended before it STARTED.
TIMED_OUT, DIED, FAULT = 30, 31, 32


class Frame(NamedTuple):
    """One message: what kind it is, which case it speaks of (-1 for none), and its payload."""

    kind: int
    case: int
    payload: bytes


def pack(kind: int, case: int, payload: bytes) -> bytes:
    """The bytes of one frame."""
    return HEADER.pack(kind, case, len(payload)) + payload


def write_all(fd: int, data: bytes) -> None:
    """Write every byte, however often the pipe fills up."""
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


class FrameReader:
    """Takes bytes as they come and gives back whole frames; a header that announces more than `limit` is a
    ValueError.
    """

    def __init__(self, limit: int) -> None:
        self._buffer = bytearray()
        self._limit = limit

    def feed(self, data: bytes) -> Iterator[Frame]:
        """Add bytes and yield the frames that they complete."""
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
