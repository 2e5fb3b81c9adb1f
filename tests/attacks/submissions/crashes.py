"""Reads address 0."""

import ctypes

EVIDENCE = r"killed by SIGSEGV"


def score(logits, lengths):
    ctypes.string_at(0)
