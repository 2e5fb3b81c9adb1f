"""Format text for people: untrusted text for terminals, counts with their nouns, and suggestions for misspelt names."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def printable(text: str, lines: bool = False) -> str:
    r"""Escape each character that a terminal would interpret or hide, for example as `\x1b`.

    Args:
        text: Untrusted text.
        lines: Whether to keep newlines. If they are escaped, the text cannot imitate a line of other output.
    """
    return "".join(
        letter if letter.isprintable() or (lines and letter == "\n") else ascii(letter)[1:-1] for letter in text
    )


def counted(count: int, noun: str) -> str:
    """Return a count with its noun, such as "1 task" or "1,200 tasks". The plural is formed with an s."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return "; did you mean X?", where X is the known name most similar to `name`, or "" if none is similar."""
    found = difflib.get_close_matches(name, list(known), n=1)
    return f"; did you mean {found[0]}?" if found else ""
