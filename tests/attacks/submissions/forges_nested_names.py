"""Gives the names of the cases as a list nested a hundred thousand levels deep, to break the worker's JSON reader."""

import contextlib
import os
import struct

import torch
from report import report

EVIDENCE = r"something other than the check wrote to the stream of observations"


def score(logits, lengths):
    text = b"[" * 100_000 + b"]" * 100_000
    for descriptor in range(3, 256):
        with contextlib.suppress(OSError):
            os.write(descriptor, struct.pack("<BiI", 20, -1, len(text)) + text)
    return report(torch.zeros(len(lengths)))
