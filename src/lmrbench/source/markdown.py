"""Find the fenced code blocks in the Markdown that language models write.

In CommonMark, a block ends at a line that contains only a fence; a fence with an info string does not close a block.
Blocks of Python are treated differently in two cases:

- A block continues past a closing fence if its code is incomplete there, for example inside a docstring.
- If the code is incomplete at every closing fence, the block ends earlier: at a fence at the end of a line of code, or
  at the opening fence of the next block.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from lmrbench.source.passages import flush

# Limits on the number of characters that are parsed to find the ends of blocks: as a multiple of the length of the
# text, and in total.
MOST_LOOKS, MOST_CHARACTERS = 20, 5_000_000

_OPENING = re.compile(
    r"(?P<quotation>(?:[ \t]{0,3}>[ \t]?)*)(?P<margin>[ \t]*)(?:(?:[-*+]|\d+[.)])[ \t]+)?"
    r"(?P<fence>`{3,}|~{3,})(?P<info>[^`]*)$"
)
_BEHIND_TEXT = re.compile(
    r"(?P<quotation>)(?P<margin>)[^`\n]*[^`\s][ \t]*(?P<fence>`{3,})(?P<info>[ \t]*[\w+#.-]+)[ \t]*$"
)
_LANGUAGE = re.compile(r"[ \t]*\{?[ \t]*\.?(?P<name>[\w+#-]*)")
_NEXT_BLOCK = re.compile(r"[ \t]*(?:`{3,}|~{3,})[ \t]*[\w+#.{}-]+[ \t]*$")
_CODE_BEHIND = re.compile(r"[ \t]*[\w+#.-]+[ \t]+(?P<code>(?:(?:def|class|import|from|async)\b|@).*)$")
_QUOTED = re.compile(r"[ \t]{0,3}>[ \t]?")
PYTHON = frozenset(
    {"python", "python2", "python3", "py", "py2", "py3", "ipython", "ipython3", "pycon", "jupyter", "sage", "pyi"}
    | {"python-repl", "tool_code"}
)
# Fences that name these languages are ignored, so that the blocks between them are found.
_MARKUP = frozenset({"markdown", "md"})


@dataclass(frozen=True)
class Block:
    """A fenced block.

    Attributes:
        start: The index of the first line of its content. If code begins on the same line as the opening
            fence, it is the index of that line.
        end: The index of the line after the block and its closing fence.
        language: The language that the fence names, in lower case; "" if it names none.
        closed: Whether a fence closes the block.
        lines: The content, without the fence's indentation and the `>` marks of a surrounding block quote.
    """

    start: int
    end: int
    language: str
    closed: bool
    lines: tuple[str, ...]

    @property
    def is_python(self) -> bool:
        """Whether the fence names Python as the language."""
        return self.language in PYTHON


class _End(NamedTuple):
    """A place where a block may end.

    Attributes:
        size: The number of lines of content before it.
        behind: The index of the first line after the block.
        last_line: The code before the fence, if the fence is at the end of a line of code.
    """

    size: int
    behind: int
    last_line: str | None = None


def fenced_blocks(lines: Sequence[str]) -> list[tuple[int, Block]]:
    """Return the fenced blocks of a text in order, each with the index of its opening fence.

    Args:
        lines: The lines of the text, without newlines.
    """
    size = sum(map(len, lines))
    search = _Search(lines, max(size, min(MOST_LOOKS * size, MOST_CHARACTERS)))
    blocks: list[tuple[int, Block]] = []
    number = 0
    while number < len(lines):
        block = search.block(number)
        if block:
            blocks.append((number, block))
        number = block.end if block else number + 1
    return blocks


class _Search:
    """The search for the blocks of a text. `looks` limits the number of characters parsed to find their ends."""

    def __init__(self, lines: Sequence[str], looks: int) -> None:
        self._lines, self._looks = lines, looks

    def block(self, number: int) -> Block | None:
        """Return the block that the line with this index opens, or None if it opens no block."""
        line = self._lines[number]
        opening = ("```" in line or "~~~" in line) and (_OPENING.match(line) or _BEHIND_TEXT.match(line))
        if not opening:
            return None
        info, fence = opening["info"], opening["fence"]
        name = match["name"].lower() if (match := _LANGUAGE.match(info)) else ""
        if name in _MARKUP:
            return None
        behind = _CODE_BEHIND.match(info)
        content = [behind["code"]] if behind else []
        start = number + (not behind)
        python = not name or name in PYTHON
        quotation, margin = opening["quotation"].count(">"), opening["margin"]
        ends: list[_End] = []
        usual = None
        for place in range(number + 1, len(self._lines)):
            inside = _inside(self._lines[place], quotation, margin)
            content.append(inside)
            stripped = inside.strip(" \t")
            if fence not in stripped:
                continue
            size = len(content) - 1
            if stripped.startswith(fence) and not stripped.strip(fence[0]):
                if usual is None:
                    usual = len(ends)
                ends.append(_End(size, place + 1))
                blank = not any(map(str.strip, content[:size]))
                if blank or (not python and usual == 0) or self._is_whole(name, content, ends[-1]):
                    return Block(start, place + 1, name, True, tuple(content[:size]))
                if self._looks <= 0 or not python:
                    break
            elif usual is None and stripped.startswith(fence):
                next_block = bool(_NEXT_BLOCK.match(inside))
                if python or next_block:
                    ends.append(_End(size, place if next_block else place + 1))
            elif usual is None and stripped.endswith(fence):
                ends.append(_End(size, place + 1, inside.rstrip(" \t").rstrip(fence[0])))
        return self._uncertain(start, name, content, ends, usual)

    def _uncertain(self, start: int, name: str, content: list[str], ends: list[_End], usual: int | None) -> Block:
        """Choose the end of a block whose code is not complete at any closing fence."""
        early = ends if usual is None else ends[:usual]
        python = not name or name in PYTHON
        chosen = next((end for end in early if python and self._is_whole(name, content, end)), None)
        chosen = chosen or next((end for end in early if end.last_line is None), None)
        chosen = chosen or (ends[usual] if usual is not None else None)
        if chosen is None:
            return Block(start, len(self._lines), name, False, tuple(content))
        return Block(start, chosen.behind, name, True, _cut(content, chosen))

    def _is_whole(self, name: str, content: list[str], end: _End) -> bool:
        """Return whether the content up to a possible end is complete Python code."""
        if self._looks <= 0 or (name and name not in PYTHON):
            return False
        found = _cut(content, end)
        self._looks -= sum(map(len, found))
        return any(map(str.strip, found)) and flush(found) is not None


def _cut(content: Sequence[str], end: _End) -> tuple[str, ...]:
    return (*content[: end.size], *([] if end.last_line is None else [end.last_line]))


def _inside(line: str, quotation: int, margin: str) -> str:
    for _ in range(quotation):
        line = _QUOTED.sub("", line, count=1)
    return line.removeprefix(margin)


def texts_between(lines: Sequence[str], blocks: Sequence[tuple[int, Block]]) -> Iterator[str]:
    """Yield the lines of a text, with empty lines in place of its blocks and their fences.

    Args:
        lines: The lines of the text.
        blocks: The result of `fenced_blocks`.
    """
    inside = {number for opening, block in blocks for number in range(opening, block.end)}
    yield from ("" if number in inside else line for number, line in enumerate(lines))
