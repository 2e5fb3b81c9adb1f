"""Becomes root: by setuid, by a capability that was left over, by every setuid program of the system."""

import contextlib
import os
import re
import stat
import subprocess

import torch
from report import report

EVIDENCE = r"capabilities 0000000000000000, no_new_privs 1, became root by \[\]"


def score(logits, lengths):
    with open("/proc/self/status") as file:
        status = dict(re.findall(r"(CapEff|NoNewPrivs):\t(\w+)", file.read()))
    became = []
    for call in (os.setuid, os.setgid, os.seteuid):
        with contextlib.suppress(OSError):
            call(0)
            became.append(call.__name__)
    for entry in os.scandir("/usr/bin") if len(lengths) == 2 else ():
        if entry.is_file() and entry.stat().st_mode & stat.S_ISUID and entry.name in ("su", "mount", "sudo"):
            done = subprocess.run([entry.path, "-c", "id -u"], capture_output=True, text=True, stdin=subprocess.DEVNULL)
            became += [entry.name] if done.stdout.strip() == "0" else []
    words = f"capabilities {status['CapEff']}, no_new_privs {status['NoNewPrivs']}"
    print(f"{words}, became root by {became}")
    return report(torch.zeros(len(lengths)))
