"""Asks by every call for signals, with the signal that does nothing, which other processes it could end."""

import contextlib
import ctypes
import os

import torch
from report import report

EVIDENCE = r"could end \[\] of \d{4,} processes"
TKILL, TGKILL = {"x86_64": (200, 234), "aarch64": (130, 131)}[os.uname().machine]
MOST = 50_000


def score(logits, lengths):
    libc, own = ctypes.CDLL(None), os.getpid()
    # Itself, its threads, and the worker, which ends with its job alone, are none of the others.
    numbers = set(range(2, own + 5000)) - {own, os.getppid(), *map(int, os.listdir("/proc/self/task"))}
    found = set()
    for pid in sorted(numbers)[-MOST:]:
        with contextlib.suppress(OSError):
            os.kill(pid, 0)
            found.add(pid)
        if libc.syscall(TKILL, pid, 0) == 0 or libc.syscall(TGKILL, pid, pid, 0) == 0:
            found.add(pid)
    print(f"could end {sorted(found)} of {len(numbers)} processes")
    return report(torch.zeros(len(lengths)))
