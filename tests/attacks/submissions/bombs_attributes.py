"""Puts hundreds of megabytes into the extended attributes of empty files, which no size and no block shows."""

import os
from pathlib import Path

import torch
from report import report

EVIDENCE = r"wrote more than 64 MB of files|[Oo]peration not (supported|permitted)"


def score(logits, lengths):
    if len(lengths) == 2:
        for number in range(4):
            path = Path(os.environ["TMPDIR"], f"attack-was-here-{number}")
            path.touch()
            for attribute in range(1000):
                os.setxattr(path, f"user.{attribute}", bytes(65_536))
    return report(torch.zeros(len(lengths)))
