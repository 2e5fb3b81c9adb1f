"""Run a candidate (the code to grade) in a child of the worker: call `observe` with each case, and send the results.

`observe` is a function of the check. It passes the case, an input, to the candidate's code and returns the observation,
the result. The code of this module shares its process with the candidate's code, so nothing that it sends can be
trusted.
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
import numpy.random

from .encoding import encode
from .framing import BROKEN, OBSERVED, RAISED, STARTED, pack, write_all
from .repository import lay_out

# Processor seconds and wall-clock seconds of a case.
SECONDS = struct.Struct("<dd")
MAX_MESSAGE = 4000
_MOST_FRAMES = 4
# The folder of the worker program. Its stack frames are left out of tracebacks, as they say nothing about a candidate.
_PROGRAM = os.path.dirname(__file__)


def enter(repo: Path, files: dict[str, bytes], tree: Path | None) -> None:
    """Create the files of a repository, change to its folder, and put the folder first in the import path.

    Args:
        repo: The folder to create.
        files: The contents of the files that the host sent, by path.
        tree: The folder that contains the repository's other files; None if all files were sent.
    """
    lay_out(repo, files, tree)
    os.chdir(repo)
    sys.path.insert(0, str(repo))
    # A module of the repository takes precedence over one of the same name that the worker has already imported.
    own = {name.removesuffix(".py") for name in os.listdir(repo)}
    for name in [name for name in sys.modules if name.split(".")[0] in own]:
        del sys.modules[name]


def run_cases(
    observing: str, drawn: Sequence[Any], numbers: Sequence[int], start: int, random_seed: int, out: int
) -> None:
    """Observe cases, and send a frame about each; see `framing` for the kinds of frames.

    STARTED is sent before any code of the candidate can run. If `observing` cannot be loaded, BROKEN follows, and no
    further frame. Otherwise one frame follows for each case in `numbers[start:]`: OBSERVED, with the times of the case
    (packed by `SECONDS`) and the encoded observation, or RAISED, with a message.

    Args:
        observing: The source code of a module that defines `observe`.
        drawn: The cases, as `restore_cases` returns them.
        numbers: The numbers of the cases to observe, in this order.
        start: The index in `numbers` to start at.
        random_seed: The seed for random, numpy and torch, set before each case.
        out: The descriptor to write frames to.
    """
    write_all(out, pack(STARTED, -1, b""))
    module = ModuleType("check")
    try:
        exec(compile(observing, "check.py", "exec"), module.__dict__)
    except BaseException as error:
        write_all(out, pack(BROKEN, -1, _last_lines(error)))
        return
    for place in range(start, len(numbers)):
        _seed_everything(random_seed)
        used, began = _processor_seconds(), time.perf_counter()
        try:
            observation = module.observe(drawn[numbers[place]])
            seconds = SECONDS.pack(_processor_seconds() - used, time.perf_counter() - began)
            payload = seconds + encode(observation)
        except BaseException as error:
            # SystemExit and KeyboardInterrupt count as exceptions of the candidate, too.
            write_all(out, pack(RAISED, place, _last_lines(error)))
        else:
            write_all(out, pack(OBSERVED, place, payload))


def _processor_seconds() -> float:
    """Return the processor seconds of this process and of its ended children."""
    used = [resource.getrusage(whose) for whose in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(item.ru_utime + item.ru_stime for item in used)


def _seed_everything(seed: int) -> None:
    random.seed(seed)
    np.random.seed(seed % 2**32)
    torch: Any = sys.modules.get("torch")
    if torch is not None:
        # `torch.manual_seed` is slower: it also formats a traceback for each kind of device that is absent.
        torch.default_generator.manual_seed(seed)


def _last_lines(error: BaseException) -> bytes:
    """Return the end of an error's traceback, without the stack frames of the worker program."""
    described = traceback.TracebackException.from_exception(error, limit=-2 * _MOST_FRAMES)
    link: traceback.TracebackException | None = described
    while link is not None:
        frames = [frame for frame in link.stack if os.path.dirname(frame.filename) != _PROGRAM]
        link.stack = traceback.StackSummary.from_list(frames[-_MOST_FRAMES:])
        link = link.__cause__ or link.__context__
    return "".join(described.format())[-MAX_MESSAGE:].encode("utf-8", "replace")
