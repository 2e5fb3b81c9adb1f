"""Returns a tensor of ten billion elements that share one float."""

import torch
from report import report

EVIDENCE = r"MemoryError|[Uu]nable to allocate|can't allocate"


def score(logits, lengths):
    return {**report(torch.zeros(len(lengths))), "scores": torch.zeros(1).expand(10**10)}
