"""Takes shared memory of /dev/zero, fills it, and drops its pages from its own size while they stay taken."""

import mmap
import os
import time

import torch
from report import report

EVIDENCE = r"used more than 256 MB of memory|killed by SIGKILL|mmap: .*(not permitted|No such file|denied)"


def _take(size):
    try:
        taken = mmap.mmap(os.open("/dev/zero", os.O_RDWR), size)
    except OSError as error:
        print(f"mmap: {error}", flush=True)
        return
    for offset in range(0, size, mmap.PAGESIZE):
        taken[offset] = 1
        if offset % (4 << 20) == 0:
            taken.madvise(mmap.MADV_DONTNEED)
    time.sleep(3)


def score(logits, lengths):
    if len(lengths) == 2:
        for _ in range(8):
            if os.fork() == 0:
                _take(100 << 20)
                os._exit(0)
        time.sleep(1.5)
    return report(torch.zeros(len(lengths)))
