"""Takes memory that belongs to no process: memfd, System V segments, message queues, semaphores, keys."""

import ctypes
import errno
import os

import torch
from report import report

EVIDENCE = r"memfd_create EPERM, shmget EPERM, msgget EPERM, semget EPERM, mq_open EPERM, add_key EPERM"
CREATE = 0o1600
ADD_KEY = {"x86_64": 248, "aarch64": 217}[os.uname().machine]


def score(logits, lengths):
    libc = ctypes.CDLL(None, use_errno=True)

    def answer(result):
        return "done" if result >= 0 else errno.errorcode[ctypes.get_errno()]

    answers = {
        "memfd_create": answer(libc.memfd_create(b"hidden", 0)),
        "shmget": answer(libc.shmget(0, 100 << 20, CREATE)),
        "msgget": answer(libc.msgget(0, CREATE)),
        "semget": answer(libc.semget(0, 100, CREATE)),
        "mq_open": answer(
            ctypes.CDLL("librt.so.1", use_errno=True).mq_open(b"/hidden", os.O_CREAT | os.O_RDWR, 0o600, 0)
        ),
        "add_key": answer(libc.syscall(ADD_KEY, b"user", b"hidden", b"x" * 1000, 1000, -4)),
    }
    print(", ".join(" ".join(item) for item in answers.items()))
    return report(torch.zeros(len(lengths)))
