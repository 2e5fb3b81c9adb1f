"""Returns an array over unmapped memory, for its reader to crash."""

import ctypes

import numpy as np
import torch
from report import report

EVIDENCE = r"killed by SIGSEGV"


def score(logits, lengths):
    nowhere = ctypes.cast(4096, ctypes.POINTER(ctypes.c_float))
    return {**report(torch.zeros(len(lengths))), "scores": np.ctypeslib.as_array(nowhere, shape=(len(lengths),))}
