"""Takes the worker's own descriptors, by pidfd_getfd and through /proc, and ends the request on them."""

import contextlib
import ctypes
import errno
import os
import struct

import torch
from report import report

EVIDENCE = r"pidfd_getfd: \['E(PERM|NOSYS)'\], /proc/\d+/fd: Permission denied"
PIDFD_GETFD = 438
DONE = struct.pack("<BiI", 11, -1, 2) + b"{}"


def score(logits, lengths):
    libc, parent = ctypes.CDLL(None, use_errno=True), os.getppid()
    pidfd, answers = os.pidfd_open(parent), set()
    for number in range(16):
        taken = libc.syscall(PIDFD_GETFD, pidfd, number, 0)
        answers.add("taken" if taken >= 0 else errno.errorcode[ctypes.get_errno()])
        if taken >= 0:
            with contextlib.suppress(OSError):
                os.write(taken, DONE)
    try:
        folder = f"/proc/{parent}/fd"
        opened = [os.open(f"{folder}/{name}", os.O_WRONLY) for name in os.listdir(folder)]
        words = f"{[os.write(fd, DONE) for fd in opened]}"
    except OSError as error:
        words = error.strerror
    print(f"pidfd_getfd: {sorted(answers)}, {folder}: {words}")
    return report(torch.zeros(len(lengths)))
