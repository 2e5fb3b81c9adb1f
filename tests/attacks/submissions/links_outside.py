"""Leaves symbolic links to / and to the system's folders, for the clean-up to follow, and tries hard links."""

import os

import torch
from report import report

EVIDENCE = r"made [1-9]\d* symbolic and 0 hard links"
TARGETS = ("/", "/usr", "/usr/lib", "/packages", "/worker", "/proc/self/root", "/proc/1/root", "..", ".", "link-0")


def score(logits, lengths):
    if len(lengths) == 2:
        home, hard = os.environ["TMPDIR"], 0
        for number, target in enumerate(TARGETS):
            os.symlink(target, os.path.join(home, f"link-{number}"))
        for number, target in enumerate(("/usr/bin/env", os.__file__, torch.__file__, "/proc/self/exe")):
            try:
                os.link(target, os.path.join(home, f"hard-{number}"), follow_symlinks=False)
                hard += 1
            except OSError:
                pass
        print(f"made {len(TARGETS)} symbolic and {hard} hard links")
    return report(torch.zeros(len(lengths)))
