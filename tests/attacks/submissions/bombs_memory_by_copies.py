"""Takes memory in forks that write to every page that they share with the worker, and so get one of their own."""

import ctypes
import mmap
import os
import time

import torch
from report import report

EVIDENCE = r"used more than 256 MB of memory|killed by SIGKILL"


def _present(start, end):
    """The addresses of the pages of a region that are in memory."""
    with open("/proc/self/pagemap", "rb") as file:
        file.seek(start // mmap.PAGESIZE * 8)
        present = file.read((end - start) // mmap.PAGESIZE * 8)[7::8]
    return [start + page * mmap.PAGESIZE for page, flags in enumerate(present) if flags & 0x80]


def score(logits, lengths):
    if len(lengths) == 2:
        with open("/proc/self/maps") as file:
            regions = [line.split() for line in file]
        private = [span for span, mode, *_, name in regions if mode == "rw-p" and not name.startswith(("/", "[stack"))]
        # Before it forks, because a back end may hide from forks what /proc says about them.
        pages = [page for span in private for page in _present(*(int(part, 16) for part in span.split("-")))]
        for _ in range(12):
            if os.fork() == 0:
                for page in pages:
                    byte = ctypes.c_char.from_address(page)
                    byte.value = byte.value
                time.sleep(30)
                os._exit(0)
        time.sleep(20)
    return report(torch.zeros(len(lengths)))
