"""Returns numbers and strings of its own classes that say one thing when read once and another when read again."""

import torch
from report import report

EVIDENCE = r"read as a number [1-9]\d* times"
READ = []


class Number(float):
    def __float__(self):
        READ.append(self)
        return float(len(READ) % 2)

    def __eq__(self, other):
        return True

    def __hash__(self):
        return 0


class Text(str):
    __slots__ = ()

    def __eq__(self, other):
        return True

    def __hash__(self):
        return 0

    def encode(self, *_):
        return b"passage 0"


def score(logits, lengths):
    print(f"read as a number {len(READ)} times")
    return {**report(torch.zeros(len(lengths))), "total": Number(1.5), "best": Text("any")}
