"""Report progress: with progress bars on a terminal, otherwise with lines that are printed at regular intervals."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, NamedTuple, TextIO

from lmrbench.text import printable

if TYPE_CHECKING:
    from rich.progress import Progress

# A function that reports progress. Its arguments are the name of a stage, the amount done, and the total (None if
# unknown).
Advance = Callable[[str, int, int | None], None]
# A function such as `staged`. It takes the name and the number of the items to process, and returns a context manager
# that shows progress. The context manager yields a function to call when an item is done, and an `Advance` for the
# stages of the current item.
Stages = Callable[[str, int], AbstractContextManager[tuple[Callable[[], None], Advance]]]


class Finished(NamedTuple):
    """The outcome of one piece of work.

    Attributes:
        text: A message about the result or the failure.
        failed: Whether the work failed.
    """

    text: str
    failed: bool = False


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
        line: A function that returns the text to print. If the text is empty, nothing is printed.
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


@contextmanager
def progress_bars() -> Iterator[Progress]:
    """Show progress bars on standard error while the context is open.

    If standard error is not a terminal, lines are printed instead. If progress reports are disabled, nothing is shown.
    """
    # Imported here, because `lmrbench --help` imports this module and Rich is slow to import.
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    out = Console(stderr=True, highlight=False)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    bars = Progress(*columns, console=out, transient=True, disable=is_quiet() or not out.is_terminal)

    def line() -> str:
        going = [task for task in bars.tasks if task.total is not None and task.completed < task.total]
        return printable(", ".join(f"{task.description} {task.completed:g} of {task.total:g}" for task in going))

    with nullcontext() if out.is_terminal else lines_of_progress(line), bars:
        yield bars


@contextmanager
def staged(what: str = "", total: int | None = None) -> Iterator[tuple[Callable[[], None], Advance]]:
    """Show one progress bar that counts finished items, and another for the stage of the current item.

    Args:
        what: The name of the items; "" to show only the stages of a single piece of work.
        total: The number of items.

    Yields:
        A function to call when an item is done, and one to call with a stage, the amount done in it, and its total.
    """
    with progress_bars() as bars:
        items = bars.add_task(what, total=total) if what else None
        stages = bars.add_task("", total=None)

        def finished() -> None:
            if items is not None:
                bars.advance(items)

        def advance(stage: str, done: int, total: int | None) -> None:
            bars.update(stages, description=stage, completed=done, total=total)

        yield finished, advance
