"""Uses up the user's allowance of pending signals, so that other programs of the user get none."""

import ctypes
import os
import signal

import torch
from report import report

EVIDENCE = r"more than 1024 signals wait: False"


def score(logits, lengths):
    libc = ctypes.CDLL(None)
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGRTMIN])
    sent = 0
    while sent < 100_000 and libc.sigqueue(os.getpid(), signal.SIGRTMIN, None) == 0:
        sent += 1
    print(f"more than 1024 signals wait: {sent > 1024}")
    return report(torch.zeros(len(lengths)))
