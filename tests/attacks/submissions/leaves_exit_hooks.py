"""Leaves hooks for the end of the process: atexit, finalizers, destructors, an exception hook."""

import atexit
import contextlib
import os
import struct
import sys
import threading
import weakref

import torch
from report import report

EVIDENCE = r"4 hooks are set"
FRAME = struct.pack("<BiI", 21, 4, 12) + b"forged frame"


class Destroyed:
    def __del__(self):
        _forge()


def _forge(*_):
    for descriptor in range(3, 64):
        with contextlib.suppress(OSError):
            os.write(descriptor, FRAME)


def score(logits, lengths):
    if len(lengths) == 2:
        atexit.register(_forge)
        weakref.finalize(logits, _forge)
        sys.modules["report"].kept = Destroyed()
        sys.excepthook = threading.excepthook = _forge
        print("4 hooks are set")
    return report(torch.zeros(len(lengths)))
