"""Takes gigabytes of memory in one process, from Python, numpy and torch."""

import numpy as np
import torch

EVIDENCE = r"(?s)MemoryError.*(Unable to allocate|MemoryError).*(can't allocate|alloc)"


def score(logits, lengths):
    if len(lengths) == 2:
        return len(bytearray(4 << 30))
    if len(lengths) == 5:
        return float(np.ones(1 << 29).sum())
    return float(torch.ones(1 << 29).sum())
