"""Begins a frame and dies, so that what the next process reports would be read as the rest of it."""

import contextlib
import os
import struct

import torch
from report import report

EVIDENCE = r"exit code 0 before it reported"


def score(logits, lengths):
    for descriptor in range(3, 256):
        with contextlib.suppress(OSError):
            os.write(descriptor, struct.pack("<BiI", 21, 0, 10_000) + b"half")
    os._exit(0)
    return report(torch.zeros(len(lengths)))
