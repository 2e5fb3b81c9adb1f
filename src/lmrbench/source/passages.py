"""Separate code from prose in a text that is only partly Python.

The text is cut into pieces of one or more lines, as if it consisted of Python statements. A piece that Python can parse
is code. Any other piece is prose or broken code. Its first line decides which: broken code begins like a Python
statement and does not contain three consecutive words. Prose is left out; broken code is reported and never dropped
silently.
"""

from __future__ import annotations

import ast
import keyword
import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from lmrbench.source.syntax import ParsedSource, indentation, syntax_tree

# Limits on the number of characters that are read to find the ends of statements: as a multiple of the length of the
# text, and in total.
MOST_LOOKS, MOST_CHARACTERS = 20, 20_000_000

_DEFINITION = re.compile(
    r"(?:async[ \t]+)?def[ \t]+\w+[ \t]*(?:[(\[:]|$)|class[ \t]+\w+[ \t]*(?:[(\[:]|$)|@[\w.]+[ \t]*(?:\(|$)"
)
_IMPORT = re.compile(
    r"import[ \t]+[\w.]+(?:[ \t]+as(?:[ \t]+\w+|[ \t]*$))?"
    r"(?:[ \t]*,[ \t]*[\w.]+(?:[ \t]+as[ \t]+\w+)?)*[ \t]*,?[ \t]*(?:[#;].*)?$"
    r"|from[ \t]+[\w.]+[ \t]+import(?:[ \t]+\w+[ \t]*(?:,|as\b|$|[#;])|[ \t]*\(|[ \t]*\*|[ \t]*$)"
)
_COMPOUND = re.compile(
    r"(?:if|elif|else|for|while|with|try|except|finally|return|raise|assert|del|global|nonlocal|yield|await|async|not"
    r"|lambda)\b|match[ \t].*:[ \t]*$"
)
_TYPE = re.compile(r"type[ \t]+\w+[ \t]*(?:\[.*\])?[ \t]*=(?!=)")
_ASSIGNMENT_OR_CALL = re.compile(
    r"[^\W\d][\w.]*(?:\[[^\]\n]*\])?(?:[ \t]*,[ \t]*[^\W\d][\w.]*)*[ \t]*(?::[^=\n]{1,80})?"
    r"(?:[-+*/%@&|^]|//|\*\*|<<|>>)?=(?!=)"
    r"|[^\W\d][\w.]*\("
)
_STRING_START = re.compile(r"[rRbBuUfF]{0,2}['\"]")
_CONTINUATION = re.compile(r"(?:else|elif|except|finally)\b|[)\]}]")
_CONFLICT = re.compile(r"(?:<{7}|>{7}|\|{7})(?: |$)")
_FORMULA = re.compile(r"[\\$]|[^\x00-\x7f\w]")
_SENTENCE = re.compile(r"[\w.]+\([^()]*\) [A-Za-z]+\b(?! *[(=.\[])")
_NO_CODE = re.compile(r"[%!]|\$ |`{3,}|~{3,}|<[/\w]|[-*+] |\d+\. |\|")
_CONTRACTION = re.compile(r"(?<=[a-z])['’](?=(?:s|t|re|ve|ll|d|m)\b)")
_WORD = re.compile(r"[A-Za-z]+[,.;:!?]?$")
_SKIPPED = (
    r"[rRbBuUfF]{0,2}(?:'''(?:\\.|[^\\])*?(?:'''|\Z)|\"\"\"(?:\\.|[^\\])*?(?:\"\"\"|\Z)"
    r"|'(?:\\.|[^'\\\n])*'?|\"(?:\\.|[^\"\\\n])*\"?)|\#[^\n]*|\\\n"
)
_STRING_OR_COMMENT = re.compile(_SKIPPED, re.DOTALL)
_PIECE = re.compile(rf"{_SKIPPED}|(?P<open>[(\[{{])|(?P<close>[)\]}}])|(?P<end>\n)", re.DOTALL)


@dataclass(frozen=True)
class Passage:
    """The code found in a text.

    Attributes:
        lines: The lines of the text: code without its common indentation, and empty lines in place of prose.
        broken: For the first statement that is broken code, the index of the line at fault and the parser's message;
            None if no code is broken.
        left_out: The indexes of the lines that are prose.
    """

    lines: tuple[str, ...]
    broken: tuple[int, str] | None = None
    left_out: tuple[int, ...] = ()


def code_of(lines: Sequence[str], strict: bool = False) -> Passage:
    """Return the code in a text that consists of code, or of code and prose.

    Args:
        lines: The lines of the text, without newlines.
        strict: Whether the text is marked as code. If so, a line that cannot be parsed is broken code unless it reads
            like prose.

    Raises:
        SyntaxError: Finding the ends of the statements takes too many steps.
    """
    whole = flush(lines)
    return Passage(whole) if whole is not None else _Reading(lines, strict).passage()


def flush(lines: Sequence[str]) -> tuple[str, ...] | None:
    """Remove the common indentation of a piece of code. Lines that begin inside a string are not changed.

    Returns:
        The lines without the indentation, or None if the text is not Python at any indentation.
    """
    first = next((number for number, line in enumerate(lines) if line.strip()), None)
    if first is None:
        return tuple(lines)
    if lines[first][0] in " \t\f":
        return _moved(lines)
    try:
        syntax_tree("\n".join(lines))
    except SyntaxError:
        margins = [line[: len(line) - len(line.lstrip(" \t"))] for line in lines[first + 1 :] if line.strip()]
        margin = min(filter(None, margins), key=len, default="")
        # The first line of a method may have lost its indentation while the other lines kept theirs.
        return _moved([*lines[:first], margin + lines[first], *lines[first + 1 :]]) if margin else None
    return tuple(lines)


def _moved(lines: Sequence[str]) -> tuple[str, ...] | None:
    try:
        source = ParsedSource.parse("\n".join(["if 1:", *lines]))
    except SyntaxError:
        return None
    branch = source.tree.body[0]
    if len(source.tree.body) > 1 or not isinstance(branch, ast.If) or branch.orelse:
        return None
    moved = source.moved(source.extent(branch.body[0])[0], len(source.text), "", "\n").split("\n")
    return ("",) * (len(lines) - len(moved)) + tuple(moved)


class _Reading:
    """Reads one text, statement by statement."""

    def __init__(self, lines: Sequence[str], strict: bool) -> None:
        self._lines, self._strict = lines, strict
        self._text = "\n".join(lines)
        self._starts = [0, *accumulate(len(line) + 1 for line in lines)]
        self._looks = max(len(self._text), min(MOST_LOOKS * len(self._text), MOST_CHARACTERS))
        self._code = [""] * len(lines)
        self._prose: list[int] = []
        self._broken: tuple[int, str] | None = None

    def passage(self) -> Passage:
        number = 0
        while number < len(self._lines):
            content = _content(self._lines[number])
            # Comments between statements are dropped without being reported as prose.
            number = number + 1 if not content or content.startswith("#") else self._statement(number)
        return Passage(tuple(self._code), self._broken, tuple(self._prose))

    def _statement(self, number: int) -> int:
        """Read the statement that begins at a line, and return the index of the line after it."""
        content = _content(self._lines[number])
        if _CONFLICT.match(content):
            self._break(number, f"a conflict marker ({content[:7]})")
            return number + 1
        end = self._end(number)
        moved = flush(self._lines[number:end])
        if moved is not None and not self._is_torn(number, moved):
            self._code[number:end] = moved
            return end
        if moved is None and not self._is_code(number):
            self._prose.append(number)
            return number + 1
        wrapped = content != self._lines[number]
        try:
            compile("\n".join([*["if 1:"] * wrapped, *self._lines[number:end]]), "", "exec", ast.PyCF_ONLY_AST)
        except SyntaxError as error:
            place = (error.lineno or 1) - 1 - wrapped
            self._break(number + min(max(place, 0), end - number - 1), error.msg)
        except (ValueError, RecursionError, MemoryError) as error:
            self._break(number, f"Python's parser gives up: {str(error) or type(error).__name__}")
        else:
            self._break(number, "indented code outside any function")
        return end

    def _is_torn(self, number: int, moved: Sequence[str]) -> bool:
        """Return whether an indented statement was torn from its function.

        This is assumed if only prose is between the statement and earlier code, or if it is a `return` or `yield`.
        """
        if not indentation(self._lines[number]):
            return False
        before = number - 1
        while before in self._prose[-(number - before) :]:
            before -= 1
        between = before < number - 1 and before >= 0 and bool(self._code[before])
        return between or bool(re.match(r"(?:return|yield)\b", _content(moved[0])))

    def _break(self, number: int, reason: str) -> None:
        self._broken = self._broken or (number, reason)

    def _end(self, number: int) -> int:
        """Return the index of the line after the statement that begins at a line.

        This is the next line that is not indented deeper than the statement and does not continue it.
        """
        content = _content(self._lines[number])
        if not _begins(content):
            return number + 1
        margin, depth, decorating = indentation(self._lines[number]), 0, content.startswith("@")
        looked = self._starts[number]
        for piece in _PIECE.finditer(self._text, looked):
            self._looks -= piece.end() - looked
            looked = piece.end()
            if self._looks < 0:
                raise SyntaxError("the code can't be separated from the text around it")
            depth = max(0, depth + bool(piece["open"]) - bool(piece["close"]))
            if not piece["end"]:
                continue
            following = bisect_right(self._starts, piece.start() + 1) - 1
            inner = _content(self._lines[following])
            if not inner or (inner.startswith("#") and self._goes_on(following, margin)):
                continue
            deeper = indentation(self._lines[following]) > margin
            # A definition cannot begin inside brackets. If a bracket is still open here, it was never closed.
            if deeper or (depth and not (_DEFINITION.match(inner) or _IMPORT.match(inner))):
                continue
            if decorating or _CONTINUATION.match(inner):
                decorating = decorating and inner.startswith("@")
                continue
            return following
        return len(self._lines)

    def _goes_on(self, number: int, margin: int) -> bool:
        """Return whether the next line of code is indented deeper than a margin."""
        for line in self._lines[number:]:
            self._looks -= len(line)
            content = _content(line)
            if content and not content.startswith("#"):
                return indentation(line) > margin
        return False

    def _is_code(self, number: int) -> bool:
        """Return whether a statement that cannot be parsed is code rather than prose."""
        content = _content(self._lines[number])
        if _DEFINITION.match(content) or _IMPORT.match(content) or _TYPE.match(content):
            return True
        bare = _STRING_OR_COMMENT.sub("''", _CONTRACTION.sub("", content)).strip()
        words = _side_by_side(bare)
        if _side_by_side(bare.replace("(", "").replace(")", "")) >= 3 or _NO_CODE.match(content):
            return False
        if _COMPOUND.match(content):
            following = next((line for line in self._lines[number + 1 :] if line.strip()), "")
            if bare.endswith(":") or indentation(following) > indentation(self._lines[number]):
                return True
            # Prose may also begin with one of these keywords, such as "if" or "for". After a line of prose, the line is
            # therefore code only if it contains a bracket, an operator or a digit.
            return words < 2 and not (number - 1 in self._prose[-1:] and not re.search(r"[()\[\]{}=<>+*/%_\d]", bare))
        if _ASSIGNMENT_OR_CALL.match(content):
            return words < 2 and not _FORMULA.search(bare) and not _SENTENCE.match(bare)
        return self._strict and words < 2


def _begins(content: str) -> bool:
    """Return whether a line can begin a statement of several lines."""
    patterns = (_DEFINITION, _IMPORT, _TYPE, _COMPOUND, _ASSIGNMENT_OR_CALL, _STRING_START)
    return any(pattern.match(content) for pattern in patterns)


def _side_by_side(text: str) -> int:
    """Return the length of the longest run of words separated only by spaces and punctuation marks."""
    longest = run = 0
    for word in text.split():
        run = run + 1 if _WORD.match(word) and not keyword.iskeyword(word.rstrip(",.;:!?")) else 0
        longest = max(longest, run)
    return longest


def _content(line: str) -> str:
    return line.lstrip(" \t\f").rstrip()
