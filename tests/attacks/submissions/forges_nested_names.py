"""Names the cases by a list nested a hundred thousand levels deep, for the worker's JSON reader to fall over."""

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
