"""Handles every signal, and lets a timer raise inside the worker's code after its case is over."""

import contextlib
import signal

import torch
from report import report

EVIDENCE = r"handles [1-9]\d+ signals"


def _handle(number, frame):
    raise SystemExit(0)


def score(logits, lengths):
    handled = 0
    for number in signal.valid_signals():
        with contextlib.suppress(OSError, ValueError):
            signal.signal(number, _handle)
            handled += 1
    print(f"handles {handled} signals")
    signal.setitimer(signal.ITIMER_REAL, 0.0002, 0.0002)
    return report(torch.zeros(len(lengths)))
