"""Dies of a real-time signal, which Python has no name for."""

import os

EVIDENCE = r"killed by signal 40"


def score(logits, lengths):
    os.kill(os.getpid(), 40)
