"""Texts that do not fit: what is left of them, and how a reader is told that there was more."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

CUT = "\n\n[The rest is left out.]"


def beginning(text: str, room: int) -> str:
    """The beginning of a text, up to the end of a paragraph where one ends in the last half of it."""
    head = text[: max(0, room - len(CUT))]
    end = head.rfind("\n\n")
    return (head[:end] if end > len(head) // 2 else head) + CUT if head else ""


def around(text: str, places: Sequence[tuple[int, int]], room: int) -> str:
    """The lines of places in a file of Python, and as many around each as there is room for.

    places: first and last line of each, counted from 1; they are kept where there is no room for them, too. A comment
    says how many lines are missing where.
    """
    lines = text.splitlines(keepends=True)
    kept = {number for first, last in places for number in range(first, last + 1)}
    left = room - sum(len(lines[number - 1]) for number in kept)
    for distance in range(1, len(lines)):
        near = {number for first, last in places for number in (first - distance, last + distance)} - kept
        for number in sorted(number for number in near if 1 <= number <= len(lines)):
            left -= len(lines[number - 1])
            if left < 0:
                break
            kept.add(number)
        if left < 0:
            break
    parts = []
    for is_kept, group in groupby(range(1, len(lines) + 1), key=kept.__contains__):
        numbers = list(group)
        parts += [lines[number - 1] for number in numbers] if is_kept else [f"# [{len(numbers)} lines are left out.]\n"]
    return "".join(parts)
