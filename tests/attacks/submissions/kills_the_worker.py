"""Sends the worker every signal except the keyboard's."""

import contextlib
import os
import signal
import time

import torch
from report import report

EVIDENCE = r"sent [1-9]\d+ signals to [1-9]\d*"


def score(logits, lengths):
    parent, sent = os.getppid(), 0
    for number in sorted(signal.valid_signals() - {signal.SIGINT}):
        with contextlib.suppress(OSError):
            os.kill(parent, number)
            sent += 1
    print(f"sent {sent} signals to {parent}")
    time.sleep(0.05)
    return report(torch.zeros(len(lengths)))
