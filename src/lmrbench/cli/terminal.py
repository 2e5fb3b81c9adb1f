"""Output on a terminal. Names, labels and reasons are untrusted, so control characters in them are escaped."""

from __future__ import annotations

import json
import sys
from io import TextIOWrapper
from typing import TYPE_CHECKING

from lmrbench.text import printable

if TYPE_CHECKING:
    from rich.console import Console

    from lmrbench.report.render.tables import Sheet

# The line width if the output does not go to a terminal.
WIDTH_OF_FILES = 200


def replace_what_cannot_be_printed() -> None:
    """Make standard output and error escape the characters that their encoding lacks."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def console(stderr: bool = False) -> Console:
    """Return a Rich console. Without a terminal it writes plain text in long lines; NO_COLOR disables colours."""
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


def print_json(value: object) -> None:
    """Print a value as indented JSON on standard output."""
    text = json.dumps(value, indent=2, ensure_ascii=False)
    if not text.isascii() and (sys.stdout.encoding or "").lower().replace("-", "") != "utf8":
        text = json.dumps(value, indent=2)
    # json.dumps does not escape all control characters.
    print("".join(letter if letter.isprintable() or letter == "\n" else json.dumps(letter)[1:-1] for letter in text))


def say(*lines: str) -> None:
    """Print lines on standard output."""
    for line in lines:
        print(printable(line))


def warn(*messages: str) -> None:
    """Print messages on standard error. Continuation lines are indented, so quoted text can't look like a message."""
    for text in messages:
        print(f"lmrbench: {printable(text, lines=True)}".replace("\n", "\n    "), file=sys.stderr)
