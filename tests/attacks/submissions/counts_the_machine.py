"""Reads what the kernel counts for the whole machine, by which it would notice what another sandbox does."""

import contextlib
import ctypes
import os

import torch
from report import report

EVIDENCE = r"counted: \[\]"
FILES = (
    *("stat", "loadavg", "meminfo", "vmstat", "uptime", "interrupts", "softirqs", "diskstats", "zoneinfo", "buddyinfo"),
    *("pressure/cpu", "pressure/memory", "pressure/io", "schedstat", "locks", "key-users", "cgroups", "slabinfo"),
    *("sys/fs/file-nr", "sys/fs/inode-nr", "sys/fs/dentry-state", "sys/fs/aio-nr", "sys/kernel/random/entropy_avail"),
)
SYSLOG, USTAT = {"x86_64": (103, 136), "aarch64": (116, 136)}[os.uname().machine]
READ_ALL = 3


def score(logits, lengths):
    counted = []
    for name in FILES:
        with contextlib.suppress(OSError), open(f"/proc/{name}", "rb") as file:
            if file.read(1):
                counted.append(name)
    libc = ctypes.CDLL(None, use_errno=True)
    space = ctypes.create_string_buffer(1 << 16)
    if libc.sysinfo(space) == 0:
        counted.append("sysinfo")
    if libc.syscall(SYSLOG, READ_ALL, space, 1 << 16) >= 0:
        counted.append("syslog")
    if os.uname().machine == "x86_64" and libc.syscall(USTAT, os.stat("/tmp").st_dev, space) == 0:
        counted.append("ustat")
    print(f"counted: {counted}")
    return report(torch.zeros(len(lengths)))
