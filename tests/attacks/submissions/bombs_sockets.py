"""Takes memory that belongs to no process: what is sent through local sockets and never received."""

import contextlib
import os
import signal
import socket
import time

import torch
from report import report

EVIDENCE = r"used more than 256 MB of memory"
MESSAGE = b"x" * (100 << 10)


def _fill():
    pairs = []
    with contextlib.suppress(OSError):
        while True:
            pairs.append(socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM))
            for end in pairs[-1]:
                end.setblocking(False)
                with contextlib.suppress(OSError):
                    end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4 * len(MESSAGE))
                with contextlib.suppress(BlockingIOError):
                    for _ in range(4):
                        end.send(MESSAGE)
    os.kill(os.getpid(), signal.SIGSTOP)


def score(logits, lengths):
    if len(lengths) == 2:
        children = []
        for _ in range(8):
            children.append(os.fork())
            if children[-1] == 0:
                _fill()
                os._exit(0)
        for pid in children:
            os.waitpid(pid, os.WUNTRACED)
        time.sleep(0.5)
    return report(torch.zeros(len(lengths)))
