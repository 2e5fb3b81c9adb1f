"""Lifts the recursion limit and calls itself until the stack overflows."""

import sys

EVIDENCE = r"killed by SIG|MemoryError|RecursionError"


class Deeper:
    def __repr__(self):
        return repr([self])


def score(logits, lengths):
    sys.setrecursionlimit(2**31 - 1)
    return repr(Deeper())
