"""A text that differs from another in a few lines: which whole lines take the place of which?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field, StringConstraints

from lmrbench.errors import TaskError
from lmrbench.records import Record

# What stands between the quotation marks of a docstring of one line.
Sentence = Annotated[str, StringConstraints(pattern=r'^[^\n\\]*[^\s\\"]$')]


class LineEdit(Record):
    """Whole lines that stand in the base once, and those that take their place."""

    old: str = Field(min_length=1)
    new: str


def edited(base: str, edits: Sequence[LineEdit], where: str) -> str:
    """The base with all edits, each of which is found in the base as it was.

    Raises TaskError, which begins with `where`, for lines that do not stand in the base once, for an edit that changes
    nothing, and for two that change the same line.
    """
    lines = _lines(base)
    places = sorted(((place_of(base, edit, where), edit) for edit in edits), key=lambda item: item[0][0], reverse=True)
    untouched = len(lines)
    # From the last edit to the first, so that the places of those before it stay what they were.
    for (start, end), edit in places:
        if end > untouched:
            raise TaskError(f"{where}: another edit changes lines of {edit.old!r} too")
        lines[start:end] = _lines(edit.new)
        untouched = start
    return "\n".join(lines) + "\n" * base.endswith("\n")


def place_of(base: str, edit: LineEdit, where: str) -> tuple[int, int]:
    """The numbers, from 0, of the first of the base's lines that an edit replaces and of the first behind them."""
    lines, old = _lines(base), _lines(edit.old)
    if old == _lines(edit.new):
        raise TaskError(f"{where}: an edit changes nothing: {edit.old!r}")
    starts = [start for start in range(len(lines)) if lines[start : start + len(old)] == old]
    if len(starts) != 1:
        raise TaskError(f"{where}: the old lines must stand in base once, not {len(starts)} times: {edit.old!r}")
    return starts[0], starts[0] + len(old)


def _lines(text: str) -> list[str]:
    return text.removesuffix("\n").split("\n") if text else []
