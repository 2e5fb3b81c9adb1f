"""How does the text of a Python file relate to its syntax tree?

A `ParsedSource` joins the two. Lines end where Python's tokenizer ends them (`\\n`, `\\r\\n`, `\\r`; not at form feeds or
U+2028), every offset counts characters of `text`, and `text` keeps the newlines of the file. Bytes are decoded as
Python does (PEP 263); what would not come back as the same bytes is refused rather than damaged.

Whatever keeps bytes from being Python is a `SyntaxError`: the caller knows whose fault that is.
"""

from __future__ import annotations

import ast
import io
import re
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


def decode(data: bytes) -> tuple[str, str]:
    """The text of a Python file, without a byte order mark, and its encoding (`utf-8-sig` where it had the mark)."""
    encoding, _ = tokenize.detect_encoding(iter(data.splitlines(keepends=True)).__next__)
    try:
        text = data.decode(encoding)
        faithful = text.encode(encoding) == data
        text.encode()  # some encodings can spell lone surrogates, which no other file can hold
    except (UnicodeError, LookupError) as error:
        raise SyntaxError(f"it is not {encoding} text ({error})") from error
    if not faithful:
        raise SyntaxError(f"decoding it as {encoding} loses bytes")
    return text, encoding


def describe(error: SyntaxError) -> str:
    """`line 3: invalid syntax`."""
    return f"line {error.lineno}: {error.msg}" if error.lineno else error.msg


def lines_of(text: str) -> list[str]:
    """The lines as Python's tokenizer tells them apart, without their newlines; the last is what follows the last."""
    return _NEWLINE.split(text)


def syntax_tree(text: str) -> ast.Module:
    """Parse a text without a byte order mark; whatever keeps Python from parsing it is a SyntaxError."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text)
    except (ValueError, RecursionError, MemoryError) as error:
        raise SyntaxError(f"Python's parser gives up: {str(error) or type(error).__name__}") from error


def splice(text: str, edits: Iterable[TextEdit]) -> str:
    """Replace each [start, end) of `text`; edits don't overlap, and insertions at one place keep their order."""
    pieces, done = [], 0
    for start, end, replacement in sorted(edits, key=lambda edit: edit[:2]):
        pieces += [text[done:start], replacement]
        done = end
    return "".join([*pieces, text[done:]])


@dataclass(frozen=True)
class ParsedSource:
    """A parsed Python text.

    starts: the offset of each line, and a last one that is never before the end. ends: where the content of each line
    ends, before its newline.
    """

    text: str
    tree: ast.Module
    tokens: tuple[tokenize.TokenInfo, ...]
    starts: tuple[int, ...]
    ends: tuple[int, ...]

    @classmethod
    def parse(cls, text: str) -> ParsedSource:
        """Parse a decoded text; a byte order mark is left out."""
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
        """The number of the line that holds an offset, from 1."""
        return min(bisect_right(self.starts, offset), len(self.starts) - 1)

    def line_start(self, offset: int) -> int:
        """Where the line of an offset begins."""
        return self.starts[self.line(offset) - 1]

    def line_end(self, line: int) -> int:
        """Where a line's content ends, before its newline."""
        return self.ends[min(line, len(self.ends)) - 1]

    def margin(self, offset: int) -> str:
        """The white space that the line of an offset begins with."""
        match = _MARGIN.match(self.text, self.line_start(offset))
        return match.group() if match else ""

    def newline(self, offset: int) -> str:
        """The first newline from an offset on; failing that, the first of the file."""
        match = _NEWLINE.search(self.text, offset) or _NEWLINE.search(self.text)
        return match.group() if match else "\n"

    def begin(self, node: ast.stmt | ast.expr) -> int:
        """The offset of a node's first character; that of a statement leaves decorators out."""
        return self.offset(node.lineno, node.col_offset)

    def finish(self, node: ast.stmt | ast.expr) -> int:
        """The offset behind a node's last character."""
        return self.offset(node.end_lineno or node.lineno, node.end_col_offset or 0)

    def token_at(self, offset: int) -> int:
        """The index of the first token that begins at an offset or after it."""
        line = self.line(offset)
        return bisect_left(self.tokens, (line, offset - self.starts[line - 1]), key=lambda token: token.start)

    def extent(self, statement: ast.stmt) -> tuple[int, int]:
        """Where a statement begins (with its decorators) and ends.

        A compound statement ends with its last line, without the newline; comments that follow it, deeper than
        the statement itself, are part of it.
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
            if token.type == tokenize.COMMENT and _width(self.margin(self.place(token))) > _width(self.margin(start)):
                last = token.start[0]
            elif token.type != tokenize.NL:
                break
        return start, self.line_end(last)

    def moved(self, start: int, end: int, margin: str, newline: str) -> str:
        """The text of [start, end), its lines moved from their margin to another one.

        Lines that begin inside a string stay as they are; every newline becomes `newline`.
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
        """The offset of a token's first character."""
        return self.starts[token.start[0] - 1] + token.start[1]

    def offset(self, line: int, utf8_column: int) -> int:
        """The offset of a place as a syntax tree names it."""
        # The tree counts columns in bytes of UTF-8.
        start = self.starts[line - 1]
        if self.text.isascii():
            return start + utf8_column
        return start + len(self.text[start : start + utf8_column].encode()[:utf8_column].decode())


def _width(margin: str) -> int:
    return len(margin.rpartition("\f")[2].expandtabs(8))


def _shifted(line: str, old: str, new: str) -> str:
    content = line.lstrip(" \t\f")
    if not content:
        return ""
    if line.startswith(old):
        return new + line[len(old) :]
    # Less deep (inside brackets, or a comment), or as deep in other white space.
    return new + " " * (_width(line[: -len(content)]) - _width(old)) + content
