"""Fills its folder with files that a walk misses: open without a name, mapped only, in folders that no one can list."""

import ctypes
import mmap
import os
import time
from pathlib import Path

import torch
from report import report

EVIDENCE = r"(?s)(wrote more than 64 MB of files.*){3}"
SIZE = 32 << 20


def _write(path):
    Path(path).write_bytes(bytes(SIZE))
    return os.open(path, os.O_RDWR)


def _open_without_a_name(number):
    _write(f"attack-was-here-{number}")
    os.unlink(f"attack-was-here-{number}")


def _mapped_without_a_name(number):
    file = _write(f"attack-was-here-{number}")
    ctypes.CDLL(None).mmap(
        None, ctypes.c_size_t(mmap.PAGESIZE), mmap.PROT_READ, mmap.MAP_PRIVATE, file, ctypes.c_long(0)
    )
    os.unlink(f"attack-was-here-{number}")
    os.close(file)


def _in_a_closed_folder(number):
    # It can be entered and changed, but not listed.
    os.mkdir(f"closed-{number}", 0o300)
    os.close(_write(f"closed-{number}/attack-was-here"))


WAYS = {2: _open_without_a_name, 5: _mapped_without_a_name, 8: _in_a_closed_folder}


def score(logits, lengths):
    if way := WAYS.get(len(lengths)):
        for number in range(16):
            way(number)
        time.sleep(3)
    return report(torch.zeros(len(lengths)))
