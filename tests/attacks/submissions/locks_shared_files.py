"""Locks files that every sandbox sees, or leaves hints on them: another process that asks for the lock learns a bit."""

import errno
import fcntl
import os
import struct

import torch
from report import report

EVIDENCE = r"locked: \[\]"
SHARED = os.__file__
GETLK, SET_RW_HINT = 5, 1036
LOCKS = {"F_SETLK": 6, "F_SETLKW": 7, "F_OFD_SETLK": 37, "F_OFD_SETLKW": 38}
OTHERS = {"F_SETLEASE": (1024, fcntl.F_RDLCK), "F_NOTIFY": (1026, 1), "F_SETSIG": (10, 10), "F_SETOWN": (8, 0)}


def score(logits, lengths):
    file = os.open(SHARED, os.O_RDONLY)
    folder = os.open(os.path.dirname(SHARED), os.O_RDONLY)
    wanted = struct.pack("hhqqi", fcntl.F_RDLCK, os.SEEK_SET, 0, 1, 0)
    tries = {name: lambda command=command: fcntl.fcntl(file, command, wanted) for name, command in LOCKS.items()}
    tries |= {name: lambda rest=rest: fcntl.fcntl(folder, *rest) for name, rest in OTHERS.items()}
    tries["F_GETLK"] = lambda: fcntl.fcntl(file, GETLK, wanted)
    tries["F_SET_RW_HINT"] = lambda: fcntl.fcntl(file, SET_RW_HINT, struct.pack("Q", 2))
    tries["flock"] = lambda: fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    locked, refused = [], []
    for name, attempt in tries.items():
        try:
            attempt()
            locked.append(name)
        except OSError as error:
            refused.append(f"{name} {errno.errorcode[error.errno]}")
    print(f"locked: {locked}, refused: {refused}")
    return report(torch.zeros(len(lengths)))
