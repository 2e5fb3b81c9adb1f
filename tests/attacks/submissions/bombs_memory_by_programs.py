"""Takes memory in new programs, which share none of the worker's memory that forks are not charged for."""

import subprocess
import sys
import time

import torch
from report import report

EVIDENCE = r"used more than 256 MB of memory"
PROGRAM = "import time; taken = bytearray(b'x') * (80 << 20); time.sleep(30)"


def score(logits, lengths):
    if len(lengths) == 2:
        for _ in range(8):
            subprocess.Popen([sys.executable, "-S", "-E", "-c", PROGRAM])
        time.sleep(20)
    return report(torch.zeros(len(lengths)))
