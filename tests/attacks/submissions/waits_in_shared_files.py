"""Waits on a futex in a file that every sandbox sees: another sandbox could wake the waiter, and so signal to it."""

import ctypes
import mmap
import os
import time

import torch
from report import report

EVIDENCE = r"woken: 0\b"
FUTEX = {"x86_64": 202, "aarch64": 98}[os.uname().machine]
WAIT, WAKE = 0, 1


def _place(libc):
    """The first word of a shared file, in a mapping of its own."""
    libc.mmap.restype = ctypes.c_void_p
    with open(os.__file__, "rb") as file:
        return ctypes.c_void_p(
            libc.mmap(None, ctypes.c_size_t(4096), mmap.PROT_READ, mmap.MAP_SHARED, file.fileno(), 0)
        )


def score(logits, lengths):
    libc = ctypes.CDLL(None, use_errno=True)
    if (pid := os.fork()) == 0:
        place = _place(libc)
        value = ctypes.cast(place, ctypes.POINTER(ctypes.c_uint32)).contents.value
        libc.syscall(FUTEX, place, WAIT, value, (ctypes.c_long * 2)(1, 0), None, 0)
        os._exit(0)
    place = _place(libc)
    woken, end = 0, time.monotonic() + 0.5
    while woken == 0 and time.monotonic() < end:
        woken = libc.syscall(FUTEX, place, WAKE, 1, None, None, 0)
        time.sleep(0.01)
    print(f"woken: {woken}")
    os.waitpid(pid, 0)
    return report(torch.zeros(len(lengths)))
