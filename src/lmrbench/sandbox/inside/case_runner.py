"""What happens in the process that runs a candidate: load `observe`, observe each case, send the observations.

Everything here shares a process with untrusted code, so nothing here is believed: what is sent is the candidate's word.
"""

from __future__ import annotations

import os
import random
import resource
import struct
import sys
import time
import traceback
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from .encoding import encode
from .framing import BROKEN, OBSERVED, RAISED, STARTED, pack, write_all
from .repository import lay_out

# Of the processor, and by the clock.
SECONDS = struct.Struct("<dd")
MAX_MESSAGE = 4000


def enter(repo: Path, files: dict[str, bytes], tree: Path | None) -> None:
    """Lay a repository out in the folder `repo`, and make it the place that modules are imported from.

    tree: the folder of the repository's other files, if it has any.
    """
    lay_out(repo, files, tree)
    os.chdir(repo)
    sys.path.insert(0, str(repo))
    # A module of the repository wins over one of the same name that the warm worker has imported already.
    own = {name.removesuffix(".py") for name in os.listdir(repo)}
    for name in [name for name in sys.modules if name.split(".")[0] in own]:
        del sys.modules[name]


def run_cases(
    observing: str, drawn: Sequence[Any], numbers: Sequence[int], start: int, random_seed: int, out: int
) -> None:
    """Observe cases with the function `observe` of a module's text.

    Sends STARTED before any code of the candidate can run. Then, for each case from place `start` of `numbers` on,
    sends OBSERVED (its `SECONDS`, then the encoded observation) or RAISED (a message); BROKEN if
    `observing` can't be loaded.

    Args:
        observing: the text of a module that defines `observe`.
        drawn: the cases, of `restore_cases`.
        numbers: which of the cases are observed, in this order.
        start: the place in `numbers` to begin at.
        random_seed: the seed that random, numpy and torch are given before each case.
        out: the descriptor of the stream of frames.
    """
    write_all(out, pack(STARTED, -1, b""))
    module = ModuleType("check")
    try:
        exec(compile(observing, "check.py", "exec"), module.__dict__)
    except BaseException:
        write_all(out, pack(BROKEN, -1, _last_lines()))
        return
    for place in range(start, len(numbers)):
        _seed_everything(random_seed)
        used, began = _processor_seconds(), time.perf_counter()
        try:
            observation = module.observe(drawn[numbers[place]])
            seconds = SECONDS.pack(_processor_seconds() - used, time.perf_counter() - began)
            payload = seconds + encode(observation)
        except BaseException:
            # SystemExit and KeyboardInterrupt too: a candidate that raises them has raised.
            write_all(out, pack(RAISED, place, _last_lines()))
        else:
            write_all(out, pack(OBSERVED, place, payload))


def _processor_seconds() -> float:
    """What this process and its children that have ended took."""
    used = [resource.getrusage(whose) for whose in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(item.ru_utime + item.ru_stime for item in used)


def _seed_everything(seed: int) -> None:
    random.seed(seed)
    np.random.seed(seed % 2**32)
    torch: Any = sys.modules.get("torch")
    if torch is not None:
        torch.manual_seed(seed)


def _last_lines() -> bytes:
    return traceback.format_exc(limit=-4)[-MAX_MESSAGE:].encode("utf-8", "replace")
