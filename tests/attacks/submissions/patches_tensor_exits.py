"""Makes detach, cpu, numpy and to return arrays that claim to be close to all others."""

import numpy as np
import torch
from report import report

EVIDENCE = r"scores: expected shape \(2,\), got \(0,\)"


class AllAlike(np.ndarray):
    def __eq__(self, other):
        return True

    def __sub__(self, other):
        return np.zeros_like(self)

    __rsub__ = __sub__


def score(logits, lengths):
    answer = report(torch.zeros(len(lengths)))
    alike = np.zeros(0, np.float32).view(AllAlike)
    for name in ("detach", "cpu", "to", "resolve_conj", "resolve_neg"):
        setattr(torch.Tensor, name, lambda self, *_, **__: self)
    torch.Tensor.numpy = torch.Tensor.__array__ = lambda *_, **__: alike
    return answer
