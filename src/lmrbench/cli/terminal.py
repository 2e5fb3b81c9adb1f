"""What commands print. Names, labels and reasons come from others; on a terminal they are text, and do nothing."""

from __future__ import annotations

import sys
from contextlib import contextmanager, nullcontext
from io import TextIOWrapper
from typing import TYPE_CHECKING

from lmrbench.progress import is_quiet, lines_of_progress
from lmrbench.text import printable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console
    from rich.progress import Progress

# Where there is no terminal, lines may be as long as readers of logs are used to.
WIDTH_OF_FILES = 200


def replace_what_cannot_be_printed() -> None:
    """Have standard output and error escape the characters that their encoding lacks, as `\\u2603`."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def console(stderr: bool = False) -> Console:
    """A console of rich. Without a terminal it writes plain text in long lines; NO_COLOR takes the colours away."""
    from rich.console import Console

    found = Console(stderr=stderr, highlight=False)
    return found if found.is_terminal else Console(stderr=stderr, highlight=False, width=WIDTH_OF_FILES)


@contextmanager
def progress() -> Iterator[Progress]:
    """Bars on standard error, which vanish when they are done; a line now and then without a terminal.

    Neither with --quiet.
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


def say(text: str) -> None:
    """Print one line on standard output."""
    print(printable(text))


def warn(text: str) -> None:
    """Print a message of ours on standard error; further lines of it are indented, so that none looks like ours."""
    print(f"lmrbench: {printable(text, lines=True)}".replace("\n", "\n    "), file=sys.stderr)
