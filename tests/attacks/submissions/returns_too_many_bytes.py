"""Returns a tensor and a string that are larger than what may leave the sandbox."""

import torch
from report import report

EVIDENCE = r"sent out more than 8 MB|is over the limit of"


def score(logits, lengths):
    guess = report(torch.zeros(len(lengths)))
    if len(lengths) == 2:
        return {**guess, "scores": torch.zeros(5_000_000)}
    return {**guess, "best": "x" * (1 << 24)} if len(lengths) == 5 else guess
