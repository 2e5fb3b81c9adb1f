"""Opens sockets, and pairs of them, of every family: internet, raw, packet, netlink, vsock, kernel crypto."""

import errno
import socket

import torch
from report import report

EVIDENCE = r"opened families \[1\], refused with \['EPERM'\]"
KINDS = (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW, socket.SOCK_SEQPACKET)


def score(logits, lengths):
    opened, refused = set(), set()
    for family in range(46):
        for kind in KINDS:
            for make in (socket.socket, socket.socketpair):
                try:
                    make(family, kind)
                    opened.add(family)
                except OSError as error:
                    refused |= {errno.errorcode[error.errno]} if family != socket.AF_UNIX else set()
    print(f"opened families {sorted(opened)}, refused with {sorted(refused)}")
    return report(torch.zeros(len(lengths)))
