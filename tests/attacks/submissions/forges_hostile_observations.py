"""Sends well-framed observations that are made to break the code that decodes or prints them."""

import contextlib
import json
import os
import struct

import numpy as np
from safetensors.numpy import save

EVIDENCE = r"(?s)(not an encoded observation.*){4}"
SCORES = {"array": "0", "library": "torch", "dtype": "float32"}
TREES = {
    2: {"dict": [["scores", {"array": "A" * 1_000_000}]]},
    5: {"dict": [["scores", {"int": "0x" + "f" * 1_000_000}], ["total", {"bytes": "\ud800"}]]},
    8: {"dict": [[["unhashable"], 1]]},
    3: {"dict": [["scores", {**SCORES, "dtype": "complex64"}], ["total", {"array": [], "library": 3}]]},
    12: {"dict": [["scores", {**SCORES, "library": "\x1b[2J" * 1000}], ["\ud800", 1e999]]},
}


def _frame(case):
    passages = list(TREES)[case]
    text = np.frombuffer(json.dumps(TREES[passages]).encode(), dtype=np.uint8)
    payload = bytes(16) + save({"0": np.zeros(passages, np.float32), "tree": text})
    return struct.pack("<BiI", 21, case, len(payload)) + payload


def score(logits, lengths):
    frames = b"".join(_frame(case) for case in range(len(TREES)))
    for descriptor in range(3, 256):
        with contextlib.suppress(OSError):
            os.write(descriptor, frames)
    os._exit(0)
