"""Takes memory in many processes, each of which keeps below the limit."""

import os
import time

import torch
from report import report

EVIDENCE = r"used more than 256 MB of memory"


def score(logits, lengths):
    if len(lengths) == 2:
        for _ in range(12):
            if os.fork() == 0:
                taken = bytearray(b"x") * (64 << 20)
                time.sleep(30)
                os._exit(len(taken) & 1)
        time.sleep(20)
    return report(torch.zeros(len(lengths)))
