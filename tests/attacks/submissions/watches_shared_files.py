"""Asks when files that every sandbox is shown are opened, and which of their pages are in memory, or drops these."""

import ctypes
import errno
import mmap
import os

import torch
from report import report

EVIDENCE = r"watched: \[\]"
SHARED = os.__file__
LINUX = {
    "x86_64": {"inotify_add_watch": 254, "fanotify_init": 300, "mincore": 27, "preadv2": 327, "readahead": 187},
    "aarch64": {"inotify_add_watch": 27, "fanotify_init": 262, "mincore": 232, "preadv2": 286, "readahead": 213},
}[os.uname().machine] | {"cachestat": 451}
RWF_NOWAIT = 8


def score(logits, lengths):
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    file = os.open(SHARED, os.O_RDONLY)
    place = ctypes.c_void_p(libc.mmap(None, ctypes.c_size_t(4096), mmap.PROT_READ, mmap.MAP_SHARED, file, 0))
    page = ctypes.create_string_buffer(4096)
    vector = (ctypes.c_void_p * 2)(ctypes.addressof(page), 4096)
    whole = (ctypes.c_uint64 * 2)(0, 4096)
    watched, refused = [], []

    def attempt(name, result):
        if result >= 0:
            watched.append(name)
        else:
            refused.append(f"{name} {errno.errorcode[ctypes.get_errno()]}")

    def call(name, *arguments):
        attempt(name, libc.syscall(LINUX[name], *arguments))

    attempt("inotify_init1", libc.inotify_init1(0))
    call("inotify_add_watch", 99, SHARED.encode(), 0x20)
    call("fanotify_init", 0x600, 0)
    call("mincore", place, ctypes.c_size_t(4096), page)
    call("cachestat", file, whole, page, 0)
    call("preadv2", file, vector, 1, 0, 0, RWF_NOWAIT)
    call("readahead", file, 0, ctypes.c_size_t(4096))
    attempt("madvise", libc.madvise(place, ctypes.c_size_t(4096), 21))
    try:
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
        watched.append("posix_fadvise")
    except OSError as error:
        refused.append(f"posix_fadvise {errno.errorcode[error.errno]}")
    print(f"watched: {watched}, refused: {refused}")
    return report(torch.zeros(len(lengths)))
