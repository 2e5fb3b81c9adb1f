"""Takes memory that belongs to no process: what is sent through local sockets and never received."""

import contextlib
import os
import socket
import time

import torch
from report import report

EVIDENCE = r"used more than 256 MB of memory"
MESSAGE = b"x" * (100 << 10)


def _fill(filled):
    pairs, kinds = [], [socket.SOCK_DGRAM, socket.SOCK_STREAM]
    while kinds:
        try:
            pairs.append(socket.socketpair(socket.AF_UNIX, kinds[0]))
        except OSError:
            # Refused, or as many as there may be.
            kinds.pop(0)
        else:
            for end in pairs[-1]:
                end.setblocking(False)
                with contextlib.suppress(OSError):
                    end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4 * len(MESSAGE))
                with contextlib.suppress(BlockingIOError):
                    for _ in range(4):
                        end.send(MESSAGE)
    os.write(filled, b"x")
    time.sleep(60)


def score(logits, lengths):
    if len(lengths) == 2:
        told, filled = os.pipe()
        for _ in range(8):
            if os.fork() == 0:
                _fill(filled)
                os._exit(0)
        for _ in range(8):
            os.read(told, 1)
        time.sleep(0.5)
    return report(torch.zeros(len(lengths)))
