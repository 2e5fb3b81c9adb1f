"""Sends the worker the keyboard's interrupt, for which Python installs a handler even in process 1."""

import os
import signal
import time

import torch
from report import report

EVIDENCE = r"interrupted"


def score(logits, lengths):
    os.kill(os.getppid(), signal.SIGINT)
    signal.pidfd_send_signal(os.pidfd_open(os.getppid()), signal.SIGINT)
    print("interrupted", flush=True)
    time.sleep(0.05)
    return report(torch.zeros(len(lengths)))
