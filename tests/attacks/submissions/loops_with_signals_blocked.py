"""Blocks or ignores every signal and stays in a C loop that never lets go of the interpreter lock."""

import contextlib
import itertools
import signal

import torch
from report import report

EVIDENCE = r"took more than \d+ s"


def score(logits, lengths):
    if len(lengths) == 2:
        for number in signal.valid_signals():
            with contextlib.suppress(OSError):
                signal.signal(number, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        sum(itertools.repeat(0))
    return report(torch.zeros(len(lengths)))
