"""Takes huge pages and gives all but a byte of each back, which no longer counts and stays taken."""

import mmap
import re

import torch
from report import report

EVIDENCE = r"huge pages: 0 kB"
HUGE = 2 << 20
MADV_HUGEPAGE = 14


def score(logits, lengths):
    memory = mmap.mmap(-1, 16 * HUGE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    try:
        memory.madvise(MADV_HUGEPAGE)
    except OSError as error:
        print(f"madvise: {error}")
    for offset in range(0, len(memory), mmap.PAGESIZE):
        memory[offset] = 1
    with open("/proc/self/smaps") as file:
        huge = sum(map(int, re.findall(r"^AnonHugePages: +(\d+) kB", file.read(), re.MULTILINE)))
    for offset in range(mmap.PAGESIZE, len(memory), HUGE):
        memory.madvise(mmap.MADV_DONTNEED, offset, min(HUGE, len(memory) - offset) - mmap.PAGESIZE)
    print(f"huge pages: {huge} kB")
    return report(torch.zeros(len(lengths)))
