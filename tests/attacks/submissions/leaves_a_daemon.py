"""Leaves a daemon, twice forked and in a session of its own, that forges frames and files for as long as it lives."""

import contextlib
import os
import struct
import time

import torch
from report import report

EVIDENCE = r"daemon \d+ is away"
FRAME = struct.pack("<BiI", 21, 0, 12) + b"forged frame"


def _daemon():
    os.setsid()
    if os.fork():
        os._exit(0)
    print(f"daemon {os.getpid()} is away", flush=True)
    end = time.monotonic() + 20
    while time.monotonic() < end:
        time.sleep(0.1)
        with open(os.path.join(os.environ["TMPDIR"], f"attack-was-here-{time.monotonic()}"), "w") as file:
            file.write("forged")
        for descriptor in range(3, 64):
            with contextlib.suppress(OSError):
                os.write(descriptor, FRAME)


def score(logits, lengths):
    if os.fork() == 0:
        _daemon()
    os.wait()
    time.sleep(0.02)
    return report(torch.zeros(len(lengths)))
