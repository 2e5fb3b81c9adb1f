"""Sets trace, profile and audit hooks, which see the worker's own code as it runs and raise inside of it."""

import sys
import threading

import torch
from report import report

EVIDENCE = r"something other|exit code 0 before it reported|raised from a hook"


def _trace(frame, event, argument):
    if frame.f_code.co_name in ("encode", "pack", "write_all") and event == "call":
        raise RuntimeError("raised from a hook")
    return _trace


def score(logits, lengths):
    for hook in (sys.setprofile, threading.setprofile, threading.settrace):
        hook(_trace)
    sys.addaudithook(lambda name, arguments: None)
    frame = sys._getframe()
    while frame is not None:
        frame.f_trace = _trace
        frame = frame.f_back
    sys.settrace(_trace)
    return report(torch.zeros(len(lengths)))
