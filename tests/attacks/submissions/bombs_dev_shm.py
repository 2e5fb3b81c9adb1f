"""Fills /dev/shm with files that have no name any more."""

import os

import torch
from report import report

EVIDENCE = r"wrote more than 64 MB of files"


def score(logits, lengths):
    for number in range(16):
        path = f"/dev/shm/attack-was-here-{number}"
        descriptor = os.open(path, os.O_CREAT | os.O_RDWR)
        os.unlink(path)
        os.write(descriptor, bytes(32 << 20))
    return report(torch.zeros(len(lengths)))
