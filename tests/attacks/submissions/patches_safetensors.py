"""Lets the serializer write arrays whose header announces more than there is."""

import sys

import torch
from report import report

EVIDENCE = r"not an encoded observation"


def _save(arrays, metadata=None):
    header = b'{"tree":{"dtype":"U8","shape":[1000000000000],"data_offsets":[0,1000000000000]}}'
    return len(header).to_bytes(8, "little") + header + b"{}"


def score(logits, lengths):
    sys.modules["safetensors.numpy"].save = _save
    sys.modules["inside.encoding"].save = _save
    return report(torch.zeros(len(lengths)))
