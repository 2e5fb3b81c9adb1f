"""Stops its process, which then neither goes on nor ends."""

import os
import signal

import torch
from report import report

EVIDENCE = r"took more than \d+ s"


def score(logits, lengths):
    if len(lengths) == 2:
        os.kill(os.getpid(), signal.SIGSTOP)
    return report(torch.zeros(len(lengths)))
