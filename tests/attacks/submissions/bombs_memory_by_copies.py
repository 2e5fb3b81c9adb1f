"""Takes memory in forks that write to every page that they share with the worker, and so get one of their own."""

import ctypes
import mmap
import os
import time

import torch
from report import report

EVIDENCE = r"used more than 256 MB of memory|killed by SIGKILL"


def _copy(start, end):
    with open("/proc/self/pagemap", "rb") as file:
        file.seek(start // mmap.PAGESIZE * 8)
        present = file.read((end - start) // mmap.PAGESIZE * 8)[7::8]
    for page, flags in enumerate(present):
        if flags & 0x80:
            byte = ctypes.c_char.from_address(start + page * mmap.PAGESIZE)
            byte.value = byte.value


def score(logits, lengths):
    if len(lengths) == 2:
        with open("/proc/self/maps") as file:
            regions = [line.split() for line in file]
        private = [span for span, mode, *_, name in regions if mode == "rw-p" and not name.startswith(("/", "[stack"))]
        for _ in range(12):
            if os.fork() == 0:
                for span in private:
                    _copy(*(int(part, 16) for part in span.split("-")))
                time.sleep(30)
                os._exit(0)
        time.sleep(20)
    return report(torch.zeros(len(lengths)))
