"""Returns NaN and infinity everywhere, for comparisons that are true unless something is larger."""

import torch
from report import report

EVIDENCE = r"got nan"


def score(logits, lengths):
    value = float("inf" if len(lengths) == 2 else "nan")
    return {**report(torch.zeros(len(lengths))), "scores": torch.full((len(lengths),), value), "total": value}
