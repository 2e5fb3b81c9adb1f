"""Writes megabytes of zero bytes to every descriptor that is not its log."""

import contextlib
import os

import torch
from report import report

EVIDENCE = r"something other than the check|sent out more than 8 MB"


def score(logits, lengths):
    for descriptor in range(3, 256):
        with contextlib.suppress(OSError):
            for _ in range(64):
                os.write(descriptor, bytes(1 << 20))
    return report(torch.zeros(len(lengths)))
