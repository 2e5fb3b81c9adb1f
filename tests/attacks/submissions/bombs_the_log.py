"""Prints without end."""

import os

import torch
from report import report

EVIDENCE = r"wrote more than 64 MB of files|File too large"


def score(logits, lengths):
    while len(lengths) == 2:
        os.write(1, b"all passed\n" * (1 << 17))
    return report(torch.zeros(len(lengths)))
