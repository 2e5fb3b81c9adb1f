r"""Map between the text of a Python file and its syntax tree.

A `ParsedSource` holds both. Lines end where Python's tokenizer ends them (`\n`, `\r\n` or `\r`, but not a form feed or
U+2028). Every offset counts characters of `text`, and `text` keeps the newlines of the file. Bytes are decoded
as PEP 263 specifies; a file is rejected if encoding its text again would not give the same bytes.

Every failure is a `SyntaxError`. Callers turn it into an error that blames the task or the submission.
"""

from __future__ import annotations

import ast
import io
import os
import re
import threading
import tokenize
import warnings
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
DefinitionNode = FunctionNode | ast.ClassDef
TextEdit = tuple[int, int, str]

_NEWLINE = re.compile(r"\r\n|\r|\n")
_MARGIN = re.compile(r"[ \t\f]*")
# CPython 3.11 counts the recursion of all threads together, so two threads that parse at once can make each other fail.
_parsing = threading.Lock()


def _forget_the_lock() -> None:
    """Replace the lock in a forked child, where another thread may have held it."""
    global _parsing
    _parsing = threading.Lock()


os.register_at_fork(after_in_child=_forget_the_lock)


def parse(source: str | bytes) -> ast.Module:
    """Parse Python source as `ast.parse` does, in one thread at a time."""
    with _parsing:
        return ast.parse(source)


def decode(data: bytes) -> tuple[str, str]:
    """Decode a Python file as PEP 263 specifies.

    Returns:
        The text without a byte order mark, and its encoding (`utf-8-sig` if the file has a byte order mark).

    Raises:
        SyntaxError: The bytes are not text in the declared encoding, or decoding is not reversible.
    """
    encoding, _ = tokenize.detect_encoding(iter(data.splitlines(keepends=True)).__next__)
    try:
        text = data.decode(encoding)
        faithful = text.encode(encoding) == data
        text.encode()  # Some encodings represent lone surrogates, which UTF-8 files cannot contain.
    except (UnicodeError, LookupError) as error:
        raise SyntaxError(f"not {encoding} text ({error})") from error
    if not faithful:
        raise SyntaxError(f"decoding as {encoding} loses bytes")
    return text, encoding


def describe(error: SyntaxError) -> str:
    """Return a syntax error as one line, such as `line 3: invalid syntax`."""
    return f"line {error.lineno}: {error.msg}" if error.lineno else error.msg


def lines_of(text: str) -> list[str]:
    """Split a text at the newlines of Python's tokenizer; the last item is the text after the last newline."""
    return _NEWLINE.split(text)


def syntax_tree(text: str) -> ast.Module:
    """Parse a text that has no byte order mark.

    Raises:
        SyntaxError: Python cannot parse the text, for any reason, including deep nesting and lack of memory.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return parse(text)
    except (ValueError, RecursionError, MemoryError) as error:
        raise SyntaxError(f"Python's parser gives up: {str(error) or type(error).__name__}") from error


def splice(text: str, edits: Iterable[TextEdit]) -> str:
    """Apply edits to a text.

    Args:
        text: The text to edit.
        edits: Triples of start, end and replacement. They must not overlap; insertions at the same offset keep their
            order.
    """
    pieces, done = [], 0
    for start, end, replacement in sorted(edits, key=lambda edit: edit[:2]):
        pieces += [text[done:start], replacement]
        done = end
    return "".join([*pieces, text[done:]])


@dataclass(frozen=True)
class ParsedSource:
    """A Python text with its syntax tree and tokens.

    Attributes:
        text: The text, with its original newlines.
        tree: The syntax tree.
        tokens: The tokens. The text was tokenized with line feeds in place of its original newlines.
        starts: The offset of each line, followed by the length of the text.
        ends: The offset at which the content of each line ends, before its newline.
    """

    text: str
    tree: ast.Module
    tokens: tuple[tokenize.TokenInfo, ...]
    starts: tuple[int, ...]
    ends: tuple[int, ...]

    @classmethod
    def parse(cls, text: str) -> ParsedSource:
        """Parse a decoded text, dropping a byte order mark.

        Raises:
            SyntaxError: Python cannot parse or tokenize the text.
        """
        text = text.removeprefix("\ufeff")
        lines = lines_of(text)
        plain = "\n".join(lines) + ("\n" if lines[-1] else "")
        tree = syntax_tree(plain)
        try:
            tokens = tuple(tokenize.generate_tokens(io.StringIO(plain, newline="\n").readline))
        except tokenize.TokenError as error:
            raise SyntaxError(str(error.args[0])) from error
        newlines = [match.span() for match in _NEWLINE.finditer(text)]
        starts = (0, *(end for _, end in newlines), len(text))
        return cls(text, tree, tokens, starts, (*(start for start, _ in newlines), len(text)))

    def line(self, offset: int) -> int:
        """Return the number of the line that contains an offset, counted from 1."""
        return min(bisect_right(self.starts, offset), len(self.starts) - 1)

    def line_start(self, offset: int) -> int:
        """Return the offset at which the line that contains an offset begins."""
        return self.starts[self.line(offset) - 1]

    def line_end(self, line: int) -> int:
        """Return the offset at which the content of a line ends, before its newline."""
        return self.ends[min(line, len(self.ends)) - 1]

    def margin(self, offset: int) -> str:
        """Return the white space at the start of the line that contains an offset."""
        match = _MARGIN.match(self.text, self.line_start(offset))
        return match.group() if match else ""

    def newline(self, offset: int) -> str:
        r"""Return the first newline at or after an offset, or else the first of the file, such as `\r\n`."""
        match = _NEWLINE.search(self.text, offset) or _NEWLINE.search(self.text)
        return match.group() if match else "\n"

    def begin(self, node: ast.stmt | ast.expr) -> int:
        """Return the offset of a node's first character, not counting decorators."""
        return self.offset(node.lineno, node.col_offset)

    def finish(self, node: ast.stmt | ast.expr) -> int:
        """Return the offset after a node's last character."""
        return self.offset(node.end_lineno or node.lineno, node.end_col_offset or 0)

    def token_at(self, offset: int) -> int:
        """Return the index of the first token that begins at or after an offset."""
        line = self.line(offset)
        return bisect_left(self.tokens, (line, offset - self.starts[line - 1]), key=lambda token: token.start)

    def extent(self, statement: ast.stmt) -> tuple[int, int]:
        """Return the offsets at which a statement, decorators included, begins and ends.

        A compound statement ends with its last line, without the newline. Comments that follow it and are indented
        deeper than the statement belong to it.
        """
        start = self.begin(statement)
        if isinstance(statement, DefinitionNode) and statement.decorator_list:
            index = self.token_at(self.begin(statement.decorator_list[0]))
            while self.tokens[index].string != "@":
                index -= 1
            start = self.place(self.tokens[index])
        if not hasattr(statement, "body") and not hasattr(statement, "cases"):
            return start, self.finish(statement)
        index = self.token_at(self.finish(statement))
        while self.tokens[index].type != tokenize.NEWLINE:
            index += 1
        last = self.tokens[index].start[0]
        for token in map(self.tokens.__getitem__, range(index + 1, len(self.tokens))):
            margins = self.margin(self.place(token)), self.margin(start)
            if token.type == tokenize.COMMENT and indentation(margins[0]) > indentation(margins[1]):
                last = token.start[0]
            elif token.type != tokenize.NL:
                break
        return start, self.line_end(last)

    def moved(self, start: int, end: int, margin: str, newline: str) -> str:
        """Return a part of the text with another indentation.

        Lines that begin inside a string are not changed.

        Args:
            start: The offset of the first character.
            end: The offset after the last character.
            margin: The new indentation of the first line. The other lines are shifted by the same amount.
            newline: The newline that replaces every newline of the part.
        """
        first, last, old = self.line(start), self.line(end), self.margin(start)
        lines = [margin + self.text[start : min(end, self.line_end(first))]]
        for number in range(first + 1, last + 1):
            line = self.text[self.starts[number - 1] : min(end, self.line_end(number))]
            lines.append(line if margin == old or number in self._lines_in_strings else _shifted(line, old, margin))
        return newline.join(lines)

    @cached_property
    def _lines_in_strings(self) -> frozenset[int]:
        inside: set[int] = set()
        opened: list[int] = []
        for token in self.tokens:
            kind = tokenize.tok_name[token.type]
            if kind == "STRING":
                inside.update(range(token.start[0] + 1, token.end[0] + 1))
            elif kind in ("FSTRING_START", "TSTRING_START"):
                opened.append(token.start[0])
            elif kind in ("FSTRING_END", "TSTRING_END"):
                inside.update(range(opened.pop() + 1, token.end[0] + 1))
        return frozenset(inside)

    def place(self, token: tokenize.TokenInfo) -> int:
        """Return the offset of a token's first character."""
        return self.starts[token.start[0] - 1] + token.start[1]

    def offset(self, line: int, utf8_column: int) -> int:
        """Convert a position of the syntax tree, whose columns count bytes of UTF-8, to an offset."""
        start = self.starts[line - 1]
        if self.text.isascii():
            return start + utf8_column
        return start + len(self.text[start : start + utf8_column].encode()[:utf8_column].decode())


def indentation(line: str) -> int:
    """Return the column at which the content of a line begins, as Python's tokenizer counts tabs and form feeds."""
    margin = line[: len(line) - len(line.lstrip(" \t\f"))]
    return len(margin.rpartition("\f")[2].expandtabs(8))


def _shifted(line: str, old: str, new: str) -> str:
    content = line.lstrip(" \t\f")
    if not content:
        return ""
    if line.startswith(old):
        return new + line[len(old) :]
    # The line is indented less (in brackets, or a comment), or with other white space.
    return new + " " * (indentation(line) - indentation(old)) + content
