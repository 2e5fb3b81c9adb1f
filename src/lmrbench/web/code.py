"""Code as HTML: coloured, with numbers of lines, and two versions side by side with their differences marked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from markupsafe import Markup
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

from lmrbench.source.matching import matched
from lmrbench.text import printable

# More is shown as plain text, since colouring takes long.
_MOST_COLOURED = 200_000
_LIGHT, _DARK = "default", "github-dark"


class Line(NamedTuple):
    """One line of two versions beside each other. Numbers and texts are None where a version has no such line.

    kind: `same`, `changed`, `added` (only the right has it) or `removed`.
    """

    kind: str
    left: int | None
    left_html: Markup | None
    right: int | None
    right_html: Markup | None


def coloured(text: str) -> list[Markup]:
    """The lines of Python code as HTML. Whatever the text holds, it is shown and does nothing."""
    lines = _lines(text)
    if len(text) > _MOST_COLOURED:
        return [Markup.escape(line) for line in lines]
    html = highlight("\n".join(lines), PythonLexer(stripnl=False, ensurenl=False), HtmlFormatter(nowrap=True))
    # Pygments escapes what it is given; within a line its tags are closed.
    return [Markup(line) for line in html.removesuffix("\n").split("\n")]


def beside(left: str, right: str, left_line: int = 1, right_line: int = 1) -> Iterator[Line]:
    """Two versions of code, line by line, each counted from its own first line."""
    html = coloured(left), coloured(right)
    lines = _lines(left), _lines(right)
    for kind, left_start, left_end, right_start, right_end in matched(*lines):
        for offset in range(max(left_end - left_start, right_end - right_start)):
            here, there = left_start + offset, right_start + offset
            on_left, on_right = here < left_end, there < right_end
            yield Line(
                "same" if kind == "equal" else "changed" if on_left and on_right else "removed" if on_left else "added",
                left_line + here if on_left else None,
                html[0][here] if on_left else None,
                right_line + there if on_right else None,
                html[1][there] if on_right else None,
            )


def _lines(text: str) -> list[str]:
    return printable(text, lines=True).removesuffix("\n").split("\n")


def changes(lines: Iterable[Line], around: int = 2) -> list[Line]:
    """The lines that differ, and so many before and after each."""
    every = list(lines)
    shown = {
        near
        for place, line in enumerate(every)
        if line.kind != "same"
        for near in range(place - around, place + around + 1)
    }
    return [line for place, line in enumerate(every) if place in shown]


def colours() -> str:
    """The style sheet of coloured code, for light and for dark pages."""
    formatters: list[Any] = [HtmlFormatter(style=style) for style in (_LIGHT, _DARK)]
    light, dark = (formatter.get_style_defs(".code") for formatter in formatters)
    return f"{light}\n@media screen and (prefers-color-scheme: dark) {{\n{dark}\n}}\n"
