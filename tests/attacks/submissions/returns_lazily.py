"""Returns generators, mapping proxies and views, which would run its code on the host if they were taken there."""

import types
from collections import UserDict

import torch
from report import report

EVIDENCE = r"(?s)a generator is not plain data.*a mappingproxy is not.*a UserDict is not.*a dict_items is not"


def _scores():
    yield torch.zeros(2)


def score(logits, lengths):
    guess = report(torch.zeros(len(lengths)))
    lazy = {2: _scores(), 5: types.MappingProxyType(guess), 8: UserDict(guess), 3: guess.items(), 12: lambda: guess}
    return lazy[len(lengths)]
