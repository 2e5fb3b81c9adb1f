"""Takes memory in new programs that hide what they run, as forks of the worker do, which are not charged in full."""

import subprocess
import sys
import time

import torch
from report import report

EVIDENCE = r"used more than 256 MB of memory"
PROGRAM = """
import ctypes, time
ctypes.CDLL(None).prctl(4, 0)
taken = bytearray(b"x") * (80 << 20)
time.sleep(30)
"""


def score(logits, lengths):
    if len(lengths) == 2:
        for _ in range(8):
            subprocess.Popen([sys.executable, "-S", "-E", "-c", PROGRAM])
        time.sleep(20)
    return report(torch.zeros(len(lengths)))
