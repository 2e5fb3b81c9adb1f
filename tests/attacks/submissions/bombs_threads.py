"""Starts threads until the system refuses, and leaves them running."""

import threading
import time

import torch
from report import report

EVIDENCE = r"after [1-9]\d* threads: "


def score(logits, lengths):
    if len(lengths) == 2:
        threading.stack_size(64 << 10)
        for number in range(5000):
            try:
                threading.Thread(target=time.sleep, args=(60,)).start()
            except RuntimeError as error:
                print(f"after {number} threads: {error}")
                break
    return report(torch.zeros(len(lengths)))
