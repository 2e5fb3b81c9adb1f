"""Returns answers with nothing in them to differ: empty tensors, no keys, shapes that would broadcast."""

import torch
from report import report

EVIDENCE = r"(?s)the key 'passages' is missing.*expected shape \(5,\), got \(0,\).*got \(1,\).*got \(1, 3\)"


def score(logits, lengths):
    guess = report(torch.zeros(len(lengths)))
    scores = {5: torch.zeros(0), 8: torch.zeros(1), 3: torch.zeros(1, 3), 12: torch.zeros(0, 12)}
    return {} if len(lengths) == 2 else {**guess, "scores": scores[len(lengths)]}
