"""Leaves nested folders and files that cannot be entered, listed or changed."""

import os
from pathlib import Path

import torch
from report import report

EVIDENCE = r"locked [1-9]\d* folders"


def score(logits, lengths):
    if len(lengths) == 2:
        folders = [Path(os.environ["TMPDIR"], *["locked"] * depth) for depth in range(1, 6)]
        for folder in folders:
            folder.mkdir()
            (folder / "file").write_text("left")
            (folder / "file").chmod(0)
        for folder in reversed(folders):
            folder.chmod(0)
        print(f"locked {len(folders)} folders")
    return report(torch.zeros(len(lengths)))
