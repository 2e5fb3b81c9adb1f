"""Takes memory that pipes hold: a byte of a huge page each, and pages of files that are then cut off."""

import ctypes
import errno
import mmap
import os

import torch
from report import report

EVIDENCE = r"vmsplice EPERM, splice EPERM, tee EPERM, sendfile EPERM, io_setup EPERM"
HUGE = 2 << 20
IO_SETUP = {"x86_64": 206, "aarch64": 0}[os.uname().machine]


def score(logits, lengths):
    libc = ctypes.CDLL(None, use_errno=True)
    source, sink = os.pipe()
    _, other_sink = os.pipe()
    memory = mmap.mmap(-1, 2 * HUGE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    memory[:HUGE] = b"x" * HUGE
    vector = (ctypes.c_size_t * 2)(ctypes.addressof(ctypes.c_char.from_buffer(memory)), 1)
    with open("pages", "w+b") as file:
        file.write(b"x" * mmap.PAGESIZE)
        file.flush()
        os.write(sink, b"xx")
        answers = {}
        for name, arguments in {
            "vmsplice": (sink, vector, 1, 0),
            "splice": (file.fileno(), (ctypes.c_int64 * 1)(0), sink, None, 1, 0),
            "tee": (source, other_sink, 1, 0),
            "sendfile": (sink, file.fileno(), (ctypes.c_int64 * 1)(0), 1),
        }.items():
            done = getattr(libc, name)(*arguments) >= 0
            answers[name] = "done" if done else errno.errorcode[ctypes.get_errno()]
        file.truncate(0)
    requests = (ctypes.c_ulong * 1)(0)
    # The machine allows 65,536 requests for all programs together.
    done = libc.syscall(IO_SETUP, 60_000, requests) >= 0
    answers["io_setup"] = "done" if done else errno.errorcode[ctypes.get_errno()]
    print(", ".join(" ".join(item) for item in answers.items()))
    return report(torch.zeros(len(lengths)))
