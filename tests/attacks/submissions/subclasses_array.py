"""Returns an array subclass that overrides ufuncs, functions and conversion."""

import numpy as np
import torch
from report import report

EVIDENCE = r"scores: expected a float32 tensor of shape \(2,\), got a float32 array"


class Agreeing(np.ndarray):
    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        return True

    def __array_function__(self, function, types, args, kwargs):
        return np.zeros(2, np.float32)

    def __array__(self, *_, **__):
        return np.zeros(2, np.float32)


def score(logits, lengths):
    scores = np.zeros(len(lengths), np.float32).view(Agreeing)
    return {**report(torch.zeros(len(lengths))), "scores": scores}
