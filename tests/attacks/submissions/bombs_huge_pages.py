"""Takes huge pages and gives all but a byte of each back, which no longer counts and stays taken."""

import mmap
import re

import torch
from report import report

EVIDENCE = r"further huge pages: (0|-\d+) kB"
HUGE = 2 << 20
MADV_HUGEPAGE = 14


def huge_pages():
    with open("/proc/self/smaps") as file:
        return sum(map(int, re.findall(r"^AnonHugePages: +(\d+) kB", file.read(), re.MULTILINE)))


def score(logits, lengths):
    # A worker may share huge pages with its template.
    before = huge_pages()
    memory = mmap.mmap(-1, 16 * HUGE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    try:
        memory.madvise(MADV_HUGEPAGE)
    except OSError as error:
        print(f"madvise: {error}")
    for offset in range(0, len(memory), mmap.PAGESIZE):
        memory[offset] = 1
    huge = huge_pages() - before
    for offset in range(mmap.PAGESIZE, len(memory), HUGE):
        memory.madvise(mmap.MADV_DONTNEED, offset, min(HUGE, len(memory) - offset) - mmap.PAGESIZE)
    print(f"further huge pages: {huge} kB")
    return report(torch.zeros(len(lengths)))
