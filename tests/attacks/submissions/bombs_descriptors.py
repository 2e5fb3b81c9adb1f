"""Opens files, pipes and sockets in several processes until every further attempt fails."""

import os
import socket
import time

import torch
from report import report

EVIDENCE = r"Too many open files"


def _open_all():
    kept = []
    try:
        while True:
            kept += [os.pipe(), socket.socketpair(), os.open("/dev/null", os.O_RDONLY)]
    except OSError as error:
        print(error, flush=True)
    time.sleep(0.5)


def score(logits, lengths):
    if len(lengths) == 2:
        for _ in range(4):
            if os.fork() == 0:
                _open_all()
                os._exit(0)
        _open_all()
    return report(torch.zeros(len(lengths)))
