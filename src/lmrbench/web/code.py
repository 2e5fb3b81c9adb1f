"""Render code as HTML: highlighted lines, and side-by-side comparisons of two versions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from markupsafe import Markup
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

from lmrbench.source.matching import matched
from lmrbench.text import printable

# Longer texts are shown as plain text, since highlighting them takes too long.
_MOST_HIGHLIGHTED = 200_000
_LIGHT, _DARK = "default", "github-dark"


class ComparedLine(NamedTuple):
    """One line of a side-by-side comparison. On a side that lacks the line, number and HTML are None.

    Attributes:
        kind: `same`, `changed`, `added` (only on the right) or `removed` (only on the left).
        left: The line number on the left.
        left_html: The line on the left, as HTML.
        right: The line number on the right.
        right_html: The line on the right, as HTML.
    """

    kind: str
    left: int | None
    left_html: Markup | None
    right: int | None
    right_html: Markup | None


def highlighted(text: str) -> list[Markup]:
    """Return the lines of Python code as highlighted and escaped HTML."""
    lines = _lines(text)
    if len(text) > _MOST_HIGHLIGHTED:
        return [Markup.escape(line) for line in lines]
    html = highlight("\n".join(lines), PythonLexer(stripnl=False, ensurenl=False), HtmlFormatter(nowrap=True))
    # Pygments escapes its input and closes its tags at the end of each line.
    return [Markup(line) for line in html.removesuffix("\n").split("\n")]


def side_by_side(left: str, right: str, left_line: int = 1, right_line: int = 1) -> Iterator[ComparedLine]:
    """Compare two versions of code line by line.

    Args:
        left: The first version.
        right: The second version.
        left_line: The number of the first line on the left.
        right_line: The number of the first line on the right.

    Yields:
        The lines of the comparison.
    """
    html = highlighted(left), highlighted(right)
    lines = _lines(left), _lines(right)
    for kind, left_start, left_end, right_start, right_end in matched(*lines):
        for offset in range(max(left_end - left_start, right_end - right_start)):
            here, there = left_start + offset, right_start + offset
            on_left, on_right = here < left_end, there < right_end
            yield ComparedLine(
                "same" if kind == "equal" else "changed" if on_left and on_right else "removed" if on_left else "added",
                left_line + here if on_left else None,
                html[0][here] if on_left else None,
                right_line + there if on_right else None,
                html[1][there] if on_right else None,
            )


def _lines(text: str) -> list[str]:
    return printable(text, lines=True).removesuffix("\n").split("\n")


def changed_lines(lines: Iterable[ComparedLine], around: int = 2) -> list[ComparedLine]:
    """Return the lines that differ, each with `around` lines of context before and after."""
    every = list(lines)
    shown = {
        near
        for place, line in enumerate(every)
        if line.kind != "same"
        for near in range(place - around, place + around + 1)
    }
    return [line for place, line in enumerate(every) if place in shown]


def highlighting_css() -> str:
    """Return the style sheet for highlighted code, with a light and a dark colour scheme."""
    formatters: list[Any] = [HtmlFormatter(style=style) for style in (_LIGHT, _DARK)]
    light, dark = (formatter.get_style_defs(".code") for formatter in formatters)
    return f"{light}\n@media screen and (prefers-color-scheme: dark) {{\n{dark}\n}}\n"
