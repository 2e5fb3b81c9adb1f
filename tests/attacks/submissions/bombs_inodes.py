"""Makes a hundred thousand empty files, which take the kernel's memory and no block of the disk."""

import os

import torch
from report import report

EVIDENCE = r"wrote more than 64 MB of files"


def score(logits, lengths):
    if len(lengths) == 2:
        folder = os.open(os.environ["TMPDIR"], os.O_RDONLY)
        for number in range(100_000):
            os.close(os.open(f"attack-was-here-{number}", os.O_CREAT | os.O_WRONLY, dir_fd=folder))
    return report(torch.zeros(len(lengths)))
