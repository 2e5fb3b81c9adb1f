"""Sends an observation of no bytes, too short for the seconds that it must begin with."""

import contextlib
import os
import struct

import torch
from report import report

EVIDENCE = r"case 0: error: "


def score(logits, lengths):
    if len(lengths) == 2:
        for descriptor in range(3, 256):
            with contextlib.suppress(OSError):
                os.write(descriptor, struct.pack("<BiI", 21, 0, 0))
        os._exit(0)
    return report(torch.zeros(len(lengths)))
