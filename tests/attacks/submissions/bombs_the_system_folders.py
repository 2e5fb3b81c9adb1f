"""Writes to every folder down to the third level, and to the folder of the device files."""

import contextlib
import os

import torch
from report import report

EVIDENCE = r"wrote to \['/dev/shm', '/tmp', '/tmp/repo-0'\] of \d{2,} folders"


def score(logits, lengths):
    written, walked = [], 0
    for folder, folders, _ in os.walk("/"):
        if folder.count("/") >= 3 or folder.startswith("/proc"):
            folders.clear()
        walked += 1
        with contextlib.suppress(OSError):
            with open(os.path.join(folder, "attack-was-here"), "wb") as file:
                file.write(bytes(1 << 10))
            written.append(folder)
    print(f"wrote to {sorted(written)} of {walked} folders")
    return report(torch.zeros(len(lengths)))
