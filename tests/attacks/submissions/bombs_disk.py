"""Fills its folder with files, each as large as a file may be."""

import os
from pathlib import Path

import torch
from report import report

EVIDENCE = r"wrote more than 64 MB of files"


def score(logits, lengths):
    for number in range(16):
        Path(os.environ["TMPDIR"], f"attack-was-here-{number}").write_bytes(bytes(32 << 20))
    return report(torch.zeros(len(lengths)))
