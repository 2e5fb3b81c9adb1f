"""Reads the machine's memory and disks through device files, and makes those that are not there."""

import glob
import os
import stat

import torch
from report import report

EVIDENCE = r"opened \[\] of \d+ devices, made \[\]"
DISKS = [(8, 0), (254, 0), (253, 0), (259, 0), (1, 1)]
HARMLESS = ("null", "zero", "full", "random", "urandom", "tty", "ptmx", "stdin", "stdout", "stderr", "core", "console")


def score(logits, lengths):
    devices = [path for path in glob.glob("/dev/*") if not os.path.isdir(path) and not path.endswith(HARMLESS)]
    opened, made = [], []
    for path in [*devices, "/dev/mem", "/dev/kmem", "/dev/vda", "/dev/sda", "/proc/kcore"]:
        try:
            if os.read(os.open(path, os.O_RDONLY | os.O_NONBLOCK), 512):
                opened.append(path)
        except OSError:
            pass
    for number, (major, minor) in enumerate(DISKS):
        path = os.path.join(os.environ["TMPDIR"], f"disk{number}")
        try:
            os.mknod(path, 0o600 | stat.S_IFBLK, os.makedev(major, minor))
            made.append(path)
        except OSError:
            pass
    print(f"opened {opened} of {len(devices)} devices, made {made}")
    return report(torch.zeros(len(lengths)))
