"""Opens sockets of every family: internet, raw, packet, netlink, vsock, bluetooth, kernel crypto."""

import contextlib
import socket

import torch
from report import report

EVIDENCE = r"opened families \[1\]"


def score(logits, lengths):
    opened = set()
    for family in range(46):
        for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW, socket.SOCK_SEQPACKET):
            with contextlib.suppress(OSError), socket.socket(family, kind):
                opened.add(family)
    print(f"opened families {sorted(opened)}")
    return report(torch.zeros(len(lengths)))
