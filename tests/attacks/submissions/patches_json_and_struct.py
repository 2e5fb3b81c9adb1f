"""Lets json and struct write forged bytes into whatever the worker frames."""

import json
import struct
import sys

import torch
from report import report

EVIDENCE = r"something other than the check wrote to the stream of observations"


class Forger(struct.Struct):
    def pack(self, *values):
        # A header that claims to be the worker's own word that all is done.
        return struct.pack("<BiI", 11, -1, 0)


def score(logits, lengths):
    json.dumps = lambda *_, **__: '{"dict":[]}'
    sys.modules["inside.framing"].HEADER = Forger("<BiI")
    sys.modules["inside.framing"].struct = struct
    return report(torch.zeros(len(lengths)))
