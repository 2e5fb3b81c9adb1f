"""What commands print. Names, labels and reasons come from others; on a terminal they are text, and do nothing."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from lmrbench.printable import printable

if TYPE_CHECKING:
    from rich.text import Text


def cell(text: str, style: str = "") -> Text:
    """A text for a table or a console of rich: without markup, control characters replaced, line breaks kept."""
    from rich.text import Text

    return Text(printable(text, lines=True), style=style)


def say(text: str) -> None:
    """Print one line on standard output."""
    print(printable(text))


def warn(text: str) -> None:
    """Print a message of ours on standard error; further lines of it are indented, so that none looks like ours."""
    print(f"lmrbench: {printable(text, lines=True)}".replace("\n", "\n    "), file=sys.stderr)
