"""Text that somebody else wrote, made fit for a terminal: it can be read there, and do nothing else."""

from __future__ import annotations


def printable(text: str, lines: bool = False) -> str:
    """The text with every character escaped that a terminal would act upon or not show, as `\\x1b`.

    lines: line breaks stay; otherwise they are escaped too, so that no text begins a line of its own.
    """
    return "".join(
        letter if letter.isprintable() or (lines and letter == "\n") else ascii(letter)[1:-1] for letter in text
    )
