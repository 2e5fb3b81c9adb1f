"""Announces a hundred cases before the check can, and dies in each, so that the worker forks without end."""

import contextlib
import json
import os
import struct

import torch
from report import report

EVIDENCE = r"exit code 0 before it reported|something other than the check"


def _announce():
    names = json.dumps(["passed"] * 100).encode()
    frame, written = struct.pack("<BiI", 20, -1, len(names)) + names, 0
    for descriptor in range(3, 256):
        with contextlib.suppress(OSError):
            written += os.write(descriptor, frame) > 0
    os._exit(0)


WRITTEN = _announce()


def score(logits, lengths):
    return report(torch.zeros(len(lengths) + 0 * WRITTEN))
