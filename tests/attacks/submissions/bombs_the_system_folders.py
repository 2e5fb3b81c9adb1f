"""Writes to every folder down to the third level, and to the folder of the device files."""

import contextlib
import os

import torch
from report import report

EVIDENCE = r"wrote to \['/dev/shm', '/tmp', '/tmp/repo-0'\] of \d{2,} folders"
# Folders that need not be listed to be found.
KNOWN = ("/", "/dev", "/dev/shm", "/etc", "/home", "/root", "/run", "/tmp", "/usr/lib", "/var/tmp")


def _folders():
    found = {*KNOWN, os.environ["TMPDIR"], os.getcwd()}
    for start in KNOWN:
        for folder, folders, _ in os.walk(start):
            if folder.count("/") >= 3 or folder.startswith("/proc"):
                folders.clear()
            found.add(folder)
    return found


def score(logits, lengths):
    folders, written = _folders(), []
    for folder in folders:
        with contextlib.suppress(OSError):
            with open(os.path.join(folder, "attack-was-here"), "wb") as file:
                file.write(bytes(1 << 10))
            written.append(folder)
    print(f"wrote to {sorted(written)} of {len(folders)} folders")
    return report(torch.zeros(len(lengths)))
