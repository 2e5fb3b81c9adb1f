"""Takes memory in forks that write to every page that they share with the worker, and so get one of their own."""

import ctypes
import mmap
import os
import time

import torch
from report import report

EVIDENCE = r"used more than 256 MB of memory"


def _copy(start, end):
    present = ctypes.create_string_buffer((end - start) // mmap.PAGESIZE)
    ctypes.CDLL(None).mincore(ctypes.c_void_p(start), ctypes.c_size_t(end - start), present)
    for page, here in enumerate(present.raw):
        if here & 1:
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
                time.sleep(3)
                os._exit(0)
        time.sleep(2.5)
    return report(torch.zeros(len(lengths)))
