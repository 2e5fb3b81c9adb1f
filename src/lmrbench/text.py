"""Text for people: what somebody else wrote, made fit for a terminal, where it does nothing; and counts of things."""

from __future__ import annotations


def printable(text: str, lines: bool = False) -> str:
    """The text with every character escaped that a terminal would act upon or not show, as `\\x1b`.

    lines: line breaks stay; otherwise they are escaped too, so that no text begins a line of its own.
    """
    return "".join(
        letter if letter.isprintable() or (lines and letter == "\n") else ascii(letter)[1:-1] for letter in text
    )


def counted(count: int, noun: str) -> str:
    """A count with its noun, as "1 task" or "1,200 tasks"; the plural is made with an s."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
