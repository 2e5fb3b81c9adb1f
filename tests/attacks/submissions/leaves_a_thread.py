"""Leaves threads, daemonic or not, that forge frames when the case is over and the process should end."""

import contextlib
import os
import struct
import threading
import time

import torch
from report import report

EVIDENCE = r"left 2 threads"
FRAME = struct.pack("<BiI", 21, 1, 12) + b"forged frame"


def _forge():
    while True:
        time.sleep(0.02)
        for descriptor in range(3, 64):
            with contextlib.suppress(OSError):
                os.write(descriptor, FRAME)


def score(logits, lengths):
    if len(lengths) == 2:
        for daemonic in (False, True):
            threading.Thread(target=_forge, daemon=daemonic).start()
        print(f"left {threading.active_count() - 1} threads", flush=True)
    time.sleep(0.05)
    return report(torch.zeros(len(lengths)))
