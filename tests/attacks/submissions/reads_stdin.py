"""Reads the worker's requests from standard input, where the pipe of the host once was."""

import os
import sys

import torch
from report import report

EVIDENCE = r"stdin: '' b'' b''"


def score(logits, lengths):
    with open("/dev/stdin", "rb") as again:
        print("stdin:", repr(sys.stdin.read()), os.read(0, 1 << 20), again.read())
    return report(torch.zeros(len(lengths)))
