"""Returns a list that holds an integer too long to print, where a tensor is expected."""

import torch
from report import report

EVIDENCE = r"scores: expected a float32 tensor"


def score(logits, lengths):
    return {**report(torch.zeros(len(lengths))), "scores": [10**20_000]}
