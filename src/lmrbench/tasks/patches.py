"""Apply a unified diff to the goal files of a task, at the places at which `git apply` would apply it.

The goal files are the files that make up a submission, usually those that contain the masked functions.

If the old lines of a hunk are not at the place that its header names, the hunk is applied at the nearest place where
they match; of two equally near places, the later one is tried first. Git applies some hunks only at the start or end of
a file; here, as with `patch`, they may also apply elsewhere. There is no fuzz: every line of context must match.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath

from unidiff.errors import UnidiffParseError
from unidiff.patch import Hunk, PatchedFile, PatchSet

from lmrbench.errors import SubmissionError
from lmrbench.source.differences import shortened
from lmrbench.source.syntax import decode
from lmrbench.tasks.workspace import REPO
from lmrbench.text import printable

MAX_WARNINGS = 50
_NOWHERE = "/dev/null"
# Prefixes that git writes before the names of the old and the new file.
_PREFIXES = frozenset("abciow12") | {"old", "new"}
_ESCAPE = re.compile(rb'\\([0-7]{1,3}|[abfnrtv\\"])')
_ESCAPED = {b"a": b"\a", b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t", b"v": b"\v"}


def patched(masked: Mapping[str, bytes], diff: str) -> tuple[dict[str, str], tuple[str, ...]]:
    """Apply a unified diff to the goal files. Paths in the diff may be relative to the workspace or to the repository.

    Args:
        masked: The goal files as the solver saw them, by path.
        diff: The diff, as printed by git or `diff -u`.

    Returns:
        The text of all goal files by path, and a warning for each part of the diff that was left out.

    Raises:
        SubmissionError: The diff cannot be parsed, does not apply, or changes no goal file.
    """
    try:
        patches = PatchSet(diff.replace("\r\n", "\n"))
    except (UnidiffParseError, ValueError) as error:
        raise SubmissionError(f"the diff can't be parsed: {printable(str(error))[:200]}") from error
    code = {file: decode(data)[0] for file, data in masked.items()}
    changed = set()
    warnings = []
    for patch in patches:
        old, new = (_path(name or _NOWHERE) for name in (patch.source_file, patch.target_file))
        goal = _goal(new, code) or _goal(old, code)
        if goal is None:
            name = old if new == _NOWHERE else new
            warnings.append(f"{printable(_without_prefix(name))}: changed, but not a goal file; left out")
            continue
        if new == _NOWHERE:
            raise SubmissionError(f"{goal}: the diff deletes this file")
        if patch.is_binary_file:
            raise SubmissionError(f"{goal}: the diff of this file is binary")
        if _goal(new, code) is None:
            warnings.append(f"{goal}: renamed to {printable(_without_prefix(new))}; the change is applied to {goal}")
        base = "" if old == _NOWHERE else code[goal]
        code[goal] = _patched(base, patch, goal)
        changed.add(goal)
    if not changed:
        raise SubmissionError(f"the diff changes no goal file ({', '.join(masked)})")
    return code, shortened(warnings, MAX_WARNINGS)


def _path(name: str) -> str:
    """Return the path that a header names. Git quotes and escapes paths with unusual characters in C style."""
    name = name.strip()
    if len(name) > 1 and name.startswith('"') and name.endswith('"'):
        data = _ESCAPE.sub(_unescaped, name[1:-1].encode("utf-8", "replace"))
        name = data.decode("utf-8", "replace")
    return name if name == _NOWHERE else str(PurePosixPath(name))


def _unescaped(match: re.Match[bytes]) -> bytes:
    escape = match[1]
    return bytes([int(escape, 8) & 255]) if escape.isdigit() else _ESCAPED.get(escape, escape)


def _without_prefix(path: str) -> str:
    first, _, rest = path.partition("/")
    return rest if rest and first in _PREFIXES else path


def _goal(path: str, goals: Mapping[str, str]) -> str | None:
    """Return the goal file that a path names, or None. Git's prefixes and a leading `repo/` are ignored."""
    for name in (path, _without_prefix(path)):
        if (found := name.removeprefix(f"{REPO}/")) in goals:
            return found
    return None


def _patched(text: str, patch: PatchedFile, name: str) -> str:
    """Apply the hunks of one file to its text. Added lines get the line endings of the text, not those of the diff."""
    lines = text.split("\n")
    end = "\r" if lines[0].endswith("\r") else ""
    ending = [lines.pop()] if not lines[-1] else []
    image = _Image(lines)
    for hunk in patch:
        old = [_content(line.value) for line in hunk if line.is_context or line.is_removed]
        place = image.place(hunk, old)
        if place is None:
            raise SubmissionError(
                f"{name}: the hunk at line {hunk.source_start} does not apply: "
                f"its old lines ({len(old)} in all) were not found"
            )
        new = []
        number = place
        for line in hunk:
            if line.is_added:
                new.append(_content(line.value) + end)
            elif line.is_context:
                new.append(image.lines[number])
            number += line.is_context or line.is_removed
        image.replace(place, len(old), new)
    return "\n".join(image.lines + ending)


class _Image:
    """The lines of a file while hunks are applied. Lines that a hunk has inserted are not matched by later hunks."""

    def __init__(self, lines: list[str]) -> None:
        self.lines = lines
        self._plain: list[str | None] = [_content(line) for line in lines]
        self._growth = 0

    def place(self, hunk: Hunk, old: Sequence[str]) -> int | None:
        """Return the index of the line at which a hunk with these old lines applies, or None if they are not found."""
        if not old:
            return max(0, min(hunk.source_start + self._growth, len(self.lines)))
        body = [line for line in hunk if line.is_context or line.is_added or line.is_removed]
        last = len(self.lines) - len(old)
        if last < 0:
            return None
        at_start, at_end = hunk.source_start <= 1, not body[-1].is_context
        if (at_start or at_end) and not (at_start and at_end and last):
            anchor = 0 if at_start else last
            if self._matches(anchor, old):
                return anchor
        return next((place for place in _nearest(hunk.target_start - 1, last) if self._matches(place, old)), None)

    def replace(self, place: int, count: int, new: Sequence[str]) -> None:
        """Replace the old lines of a hunk with its new lines."""
        self.lines[place : place + count] = new
        self._plain[place : place + count] = [None] * len(new)
        self._growth += len(new) - count

    def _matches(self, place: int, old: Sequence[str]) -> bool:
        return self._plain[place] == old[0] and self._plain[place : place + len(old)] == old


def _nearest(place: int, last: int) -> Iterator[int]:
    """Yield all indices from 0 to `last` by distance from `place`; of two equally distant ones, the larger first."""
    place = max(0, min(place, last))
    yield place
    for distance in range(1, max(place, last - place) + 1):
        if place + distance <= last:
            yield place + distance
        if place >= distance:
            yield place - distance


def _content(line: str) -> str:
    return line.removesuffix("\n").removesuffix("\r")
