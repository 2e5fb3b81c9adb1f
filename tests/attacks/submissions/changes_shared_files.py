"""Changes modes, times and owners of files that every sandbox is shown, and cuts them off, as their owner may."""

import contextlib
import os
import sys

import torch
from report import report

EVIDENCE = r"changed \[\] of 3 files"
# They belong to the user that runs lmrbench, if it was that user who installed them.
SHARED = (os.__file__, torch.__file__, os.path.realpath(sys.executable))
OPENED = (os.O_WRONLY, os.O_RDWR | os.O_APPEND)


def _state(path):
    found = os.stat(path)
    return found.st_mode, found.st_mtime_ns, found.st_uid, found.st_gid


def score(logits, lengths):
    changed = set()
    for path in SHARED:
        before, size = _state(path), os.stat(path).st_size
        with contextlib.suppress(OSError):
            os.chmod(path, before[0] ^ 1)
        with contextlib.suppress(OSError):
            os.utime(path, ns=(before[1] + 1, before[1] + 1))
        with contextlib.suppress(OSError):
            os.chown(path, os.getuid(), os.getgid() + 1)
        with contextlib.suppress(OSError):
            os.truncate(path, size)
            changed.add(path)
        for flags in OPENED:
            with contextlib.suppress(OSError):
                os.close(os.open(path, flags))
                changed.add(path)
        if _state(path) != before:
            changed.add(path)
    print(f"changed {sorted(changed)} of {len(SHARED)} files")
    return report(torch.zeros(len(lengths)))
