"""Report progress as a line at intervals, for output that is not a terminal."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

SECONDS = 30.0
_quiet = False


def be_quiet() -> None:
    """Disable progress reports for the rest of this process."""
    global _quiet
    _quiet = True


def is_quiet() -> bool:
    """Return whether progress reports are disabled."""
    return _quiet


@contextmanager
def lines_of_progress(line: Callable[[], str], out: TextIO | None = None) -> Iterator[None]:
    """Print a line of progress every `SECONDS` while the context is open, unless progress is disabled.

    Args:
        line: Returns the text to print. Nothing is printed if it is empty.
        out: The stream to print to; by default standard error.
    """
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
