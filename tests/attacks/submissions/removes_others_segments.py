"""Removes segments, semaphores and queues that other programs of the user share, whose numbers are easy to guess."""

import ctypes
import errno
import os

import torch
from report import report

EVIDENCE = r"shmctl EPERM, semctl EPERM, msgctl EPERM, semop EPERM, msgsnd EPERM, mq_unlink EPERM"
REMOVE = 0
# The id of no object, so the attack does no harm where it succeeds.
UNUSED = 2**31 - 1
CALLS = {
    "x86_64": {"shmctl": 31, "semctl": 66, "msgctl": 71, "semop": 65, "msgsnd": 69, "mq_unlink": 241},
    "aarch64": {"shmctl": 195, "semctl": 191, "msgctl": 187, "semop": 193, "msgsnd": 189, "mq_unlink": 181},
}[os.uname().machine]
ARGUMENTS = {"semctl": (UNUSED, 0, REMOVE), "mq_unlink": (b"no-such-queue",)}


def score(logits, lengths):
    libc, answers = ctypes.CDLL(None, use_errno=True), []
    for name, number in CALLS.items():
        done = libc.syscall(number, *ARGUMENTS.get(name, (UNUSED, REMOVE, None)))
        answers.append(f"{name} {'done' if done >= 0 else errno.errorcode[ctypes.get_errno()]}")
    print(", ".join(answers))
    return report(torch.zeros(len(lengths)))
