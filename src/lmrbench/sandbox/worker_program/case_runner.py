"""What happens in the process that runs a candidate: load the check, observe each case, send the observations.

Everything here shares a process with untrusted code, so nothing here is believed: what is sent is the candidate's word.
"""

from __future__ import annotations

import json
import os
import random
import struct
import sys
import time
import traceback
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from .encoding import encode
from .framing import BROKEN, CASES, OBSERVED, RAISED, pack, write_all
from .repository import lay_out

SECONDS = struct.Struct("<d")
MAX_MESSAGE = 4000


def run_check(
    repo: Path, files: dict[str, bytes], tree: Path | None, check: str, seed: int, start: int, out: int
) -> None:
    """Observe the cases of `check` from number `start` on over the repository `files`, laid out in `repo` first.

    tree: the folder of the repository's other files, if it has any.

    Sends CASES, then for each case OBSERVED (seconds as a double, then the encoded observation) or RAISED (a message)
    to the descriptor `out`; BROKEN if the check itself can't be loaded.
    """
    try:
        _enter(repo, files, tree)
        module = ModuleType("check")
        exec(compile(check, "check.py", "exec"), module.__dict__)
        cases = list(module.cases(seed))
    except Exception:
        write_all(out, pack(BROKEN, -1, _last_lines()))
        return
    names = [case.get("name", "") if isinstance(case, dict) else "" for case in cases]
    write_all(out, pack(CASES, -1, json.dumps(names).encode()))
    for index in range(start, len(cases)):
        _seed_everything(seed)
        began = time.perf_counter()
        try:
            observation = module.observe(cases[index])
            payload = SECONDS.pack(time.perf_counter() - began) + encode(observation)
        except BaseException:
            # SystemExit and KeyboardInterrupt too: a candidate that raises them has raised.
            write_all(out, pack(RAISED, index, _last_lines()))
        else:
            write_all(out, pack(OBSERVED, index, payload))


def _enter(repo: Path, files: dict[str, bytes], tree: Path | None) -> None:
    lay_out(repo, files, tree)
    os.chdir(repo)
    sys.path.insert(0, str(repo))
    # A module of the repository wins over one of the same name that the warm worker has imported already.
    own = {name.removesuffix(".py") for name in os.listdir(repo)}
    for name in [name for name in sys.modules if name.split(".")[0] in own]:
        del sys.modules[name]


def _seed_everything(seed: int) -> None:
    random.seed(seed)
    np.random.seed(seed % 2**32)
    torch: Any = sys.modules.get("torch")
    if torch is not None:
        torch.manual_seed(seed)


def _last_lines() -> bytes:
    return traceback.format_exc(limit=-4)[-MAX_MESSAGE:].encode("utf-8", "replace")
