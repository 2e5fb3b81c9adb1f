"""Sends one array that is referred to a hundred thousand times, so that decoding it would need terabytes."""

import contextlib
import json
import os
import struct

import numpy as np
from report import report
from safetensors.numpy import save

EVIDENCE = r"not an encoded observation"


def score(logits, lengths):
    node = {"array": "0", "library": "torch", "dtype": "complex64"}
    text = np.frombuffer(json.dumps([node] * 50_000).encode(), dtype=np.uint8)
    payload = bytes(16) + save({"0": np.zeros((400_000, 2), np.float32), "tree": text})
    frame = struct.pack("<BiI", 21, 0, len(payload)) + payload
    for descriptor in range(3, 64):
        with contextlib.suppress(OSError):
            view = memoryview(frame)
            while view:
                view = view[os.write(descriptor, view) :]
    os._exit(0)
    return report(logits)
