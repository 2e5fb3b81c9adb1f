"""Edits that replace whole lines of a text or of the files of a repository."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated

from pydantic import Field, StringConstraints

from lmrbench.errors import TaskError
from lmrbench.records import Record
from lmrbench.source.syntax import decode
from lmrbench.tasks.model import RelativePath

# A sentence that can be the content of a one-line docstring without escapes.
Sentence = Annotated[str, StringConstraints(pattern=r'^[^\n\\]*[^\s\\"]$')]


class LineEdit(Record):
    """A replacement of whole lines at one place in a text.

    Attributes:
        old: The lines to replace, which occur exactly once in the original text.
        new: The lines that replace them.
    """

    old: str = Field(min_length=1)
    new: str


class FileEdit(LineEdit):
    """A replacement of whole lines in one file of a repository.

    Attributes:
        file: The path of the file.
    """

    file: RelativePath


def edited(base: str, edits: Sequence[LineEdit], where: str) -> str:
    """Apply edits to a text and return the result. Each edit refers to the lines of the original text.

    Args:
        base: The original text.
        edits: The edits, in any order.
        where: A prefix for error messages: the file that contains the edits, and the key in it.

    Raises:
        TaskError: The old lines of an edit do not occur exactly once, an edit changes nothing, or two edits change the
            same line.
    """
    lines = _lines(base)
    places = sorted(((place_of(base, edit, where), edit) for edit in edits), key=lambda item: item[0][0], reverse=True)
    untouched = len(lines)
    # Edits are applied from last to first, so that the positions of the remaining edits stay valid.
    for (start, end), edit in places:
        if end > untouched:
            raise TaskError(f"{where}: another edit also changes lines of {edit.old!r}")
        lines[start:end] = _lines(edit.new)
        untouched = start
    return "\n".join(lines) + "\n" * base.endswith("\n")


def edited_files(repository: Mapping[str, bytes], edits: Iterable[FileEdit], where: str) -> dict[str, bytes]:
    """Apply edits to the files of a repository.

    Args:
        repository: The files by path.
        edits: The edits, in any order.
        where: A prefix for error messages: the file that contains the edits, and the key in it.

    Returns:
        The new content of each file that the edits change, by path. Line endings stay as they are in the original file,
        although edits, which come from TOML, have line feeds only.

    Raises:
        TaskError: A file does not exist, or an edit cannot be applied (see `edited`).
    """
    by_file: dict[str, list[FileEdit]] = {}
    for edit in edits:
        if edit.file not in repository:
            raise TaskError(f"{where}: there is no file repo/{edit.file}")
        by_file.setdefault(edit.file, []).append(edit)
    return {path: _edited_file(repository[path], items, f"{where}: {path}") for path, items in by_file.items()}


def place_of(base: str, edit: LineEdit, where: str) -> tuple[int, int]:
    """Return the index of the first line that an edit replaces, and the index of the line after the last one.

    Args:
        base: The original text.
        edit: An edit of this text.
        where: A prefix for error messages: the file that contains the edits, and the key in it.

    Raises:
        TaskError: The old lines do not occur exactly once, or the edit changes nothing.
    """
    lines, old = _lines(base), _lines(edit.old)
    if old == _lines(edit.new):
        raise TaskError(f"{where}: an edit changes nothing: {edit.old!r}")
    starts = [start for start in range(len(lines)) if lines[start : start + len(old)] == old]
    if len(starts) != 1:
        raise TaskError(f"{where}: the old lines must occur once in the text, not {len(starts)} times: {edit.old!r}")
    return starts[0], starts[0] + len(old)


def _edited_file(data: bytes, edits: Sequence[LineEdit], where: str) -> bytes:
    text = decode(data)[0]
    crlf = "\r\n" in text and text.count("\r\n") == text.count("\n")
    if crlf:
        text = text.replace("\r\n", "\n")
    text = edited(text, edits, where)
    return (text.replace("\n", "\r\n") if crlf else text).encode()


def _lines(text: str) -> list[str]:
    return text.removesuffix("\n").split("\n") if text else []
