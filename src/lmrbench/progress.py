"""Where there is no terminal for a bar, a line of progress now and then."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

SECONDS = 30.0
_quiet = False


def be_quiet() -> None:
    """Show no progress from now on."""
    global _quiet
    _quiet = True


def is_quiet() -> bool:
    """Whether no progress is to be shown."""
    return _quiet


@contextmanager
def lines_of_progress(line: Callable[[], str], out: TextIO | None = None) -> Iterator[None]:
    """Print what `line` returns every `SECONDS`, on standard error or `out`; nothing while it is empty, or if quiet."""
    if _quiet:
        yield
        return
    ended = threading.Event()
    stream = out or sys.stderr

    def report() -> None:
        while not ended.wait(SECONDS):
            if text := line():
                print(f"lmrbench: {text}", file=stream, flush=True)

    threading.Thread(target=report, daemon=True).start()
    try:
        yield
    finally:
        ended.set()
