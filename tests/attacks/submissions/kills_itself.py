"""Kills its process by one signal after the other."""

import os
import signal

EVIDENCE = r"(?s)killed by SIGKILL.*killed by SIGTERM.*killed by SIGABRT"
SIGNALS = {2: signal.SIGKILL, 5: signal.SIGTERM, 8: signal.SIGABRT, 3: signal.SIGKILL, 12: signal.SIGBUS}


def score(logits, lengths):
    os.kill(os.getpid(), SIGNALS[len(lengths)])
