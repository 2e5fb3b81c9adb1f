"""Stops all clocks of its process, so that no limit is seen to pass, and waits."""

import time

import torch
from report import report

EVIDENCE = r"took more than \d+ s"


def score(logits, lengths):
    for name in ("time", "monotonic", "perf_counter", "process_time"):
        setattr(time, name, lambda: 0.0)
    while len(lengths) == 2 and time.monotonic() < 60:
        time.sleep(0.01)
    return report(torch.zeros(len(lengths)))
