"""Returns an integer of twenty thousand digits where a float is expected: Python prints none of that length."""

import torch
from report import report

EVIDENCE = r"passages: expected"


def score(logits, lengths):
    return {**report(torch.zeros(len(lengths))), "passages": 10**20_000}
