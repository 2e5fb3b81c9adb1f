"""Output on a terminal. Names, labels and reasons are untrusted, so control characters in them are escaped."""

from __future__ import annotations

import sys
from contextlib import contextmanager, nullcontext
from io import TextIOWrapper
from typing import TYPE_CHECKING

from lmrbench.progress import is_quiet, lines_of_progress
from lmrbench.text import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rich.console import Console
    from rich.progress import Progress

    from lmrbench.report.render.tables import Sheet

# The width of lines without a terminal.
WIDTH_OF_FILES = 200


def replace_what_cannot_be_printed() -> None:
    """Make standard output and error escape the characters that their encoding lacks."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def console(stderr: bool = False) -> Console:
    """Return a console of rich. Without a terminal it writes plain text in long lines; NO_COLOR disables colours."""
    from rich.console import Console

    found = Console(stderr=stderr, highlight=False)
    return found if found.is_terminal else Console(stderr=stderr, highlight=False, width=WIDTH_OF_FILES)


def show(*sheets: Sheet | None) -> None:
    """Print tables on standard output; None is skipped."""
    from lmrbench.report.render.tables import show as show_on

    out = console()
    for item in sheets:
        if item is not None:
            show_on(item, out)


@contextmanager
def progress() -> Iterator[Progress]:
    """Show bars on standard error, which vanish when they are done; without a terminal, print a line now and then.

    With --quiet nothing is shown.
    """
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    out = console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    bars = Progress(*columns, console=out, transient=True, disable=is_quiet() or not out.is_terminal)

    def line() -> str:
        going = [task for task in bars.tasks if task.total is not None and task.completed < task.total]
        return printable(", ".join(f"{task.description} {task.completed:g} of {task.total:g}" for task in going))

    with nullcontext() if out.is_terminal else lines_of_progress(line), bars:
        yield bars


@contextmanager
def staged(
    what: str = "", total: int | None = None
) -> Iterator[tuple[Callable[[], None], Callable[[str, int, int | None], None]]]:
    """Show a bar for some items, and one for the stage that the current item is in.

    Args:
        what: The name of the items; "" for a single piece of work.
        total: The number of items.

    Yields:
        A function to call when an item is done, and one to call with a stage, the amount done in it, and its total.
    """
    with progress() as bars:
        items = bars.add_task(what, total=total) if what else None
        stages = bars.add_task("", total=None)

        def finished() -> None:
            if items is not None:
                bars.advance(items)

        def advance(stage: str, done: int, total: int | None) -> None:
            bars.update(stages, description=stage, completed=done, total=total)

        yield finished, advance


def say(text: str) -> None:
    """Print one line on standard output."""
    print(printable(text))


def warn(text: str) -> None:
    """Print a message on standard error. Further lines are indented, so that no quoted text looks like a message."""
    print(f"lmrbench: {printable(text, lines=True)}".replace("\n", "\n    "), file=sys.stderr)
