"""Find the code in a model's response that defines the targets, which are the functions that a task asks for.

A response is either bare code or contains code in Markdown fences or among prose. The code may be indented differently
than in the repository, and methods may be outside their class. The result has as many lines as the response, with empty
lines in place of everything but code, so that line numbers in messages refer to the response.

Blocks of Python are joined in order. If a name has several definitions, the last one that is not a stub counts. Code
that cannot be parsed is an error if it may contain a target, or something that a target needs.
"""

from __future__ import annotations

import ast
import builtins
import re
import sys
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from lmrbench.errors import SubmissionError
from lmrbench.source.cleaning import (
    cleaned,
    may_hold_reasoning,
    unwrapped,
    without_html,
    without_prompts,
    without_quotation,
    without_reasoning,
)
from lmrbench.source.functions import Definition, definitions_named, is_overload, is_stub
from lmrbench.source.markdown import Block, fenced_blocks, texts_between
from lmrbench.source.names import attributes, bound, used
from lmrbench.source.passages import Passage, code_of, flush
from lmrbench.source.syntax import DefinitionNode, syntax_tree
from lmrbench.text import printable

MOST_QUOTED = 80
_PYTHON = f"Python {sys.version_info.major}.{sys.version_info.minor}"
_BINDING = re.compile(
    r"^[ \t]*(?:(?:async[ \t]+)?def[ \t]+(?P<function>\w+)|class[ \t]+(?P<class>\w+)"
    r"|(?P<variable>\w+)[ \t]*(?::[^=\n]+)?=(?!=)"
    r"|(?:from[ \t]+[\w.]+[ \t]+)?import[ \t]+(?P<imported>[^\n]+))",
    re.MULTILINE,
)
_CODE = re.compile(
    r"^[ \t>]*(?:(?:async[ \t]+)?def[ \t]+\w+|class[ \t]+\w+[ \t]*[(:]|@\w|import[ \t]+[\w.]+[ \t]*(?:$|as\b|,)"
    r"|from[ \t]+[\w.]+[ \t]+import\b|\w+[ \t]*=(?!=))",
    re.MULTILINE,
)


@dataclass(frozen=True)
class Response:
    """The code of a response.

    Attributes:
        text: The Python text.
        warnings: One line for each part of the response that was left out.
    """

    text: str
    warnings: tuple[str, ...] = ()


def from_response(text: str, targets: Sequence[str], known: Collection[str] = ()) -> Response:
    """Return the code in a response. A response that is a Python file with all targets is returned unchanged.

    Args:
        text: The response.
        targets: The qualified names of the targets.
        known: Names that the repository's file binds. The code can use them without defining them.

    Returns:
        The code, with empty lines in place of everything else, and warnings.

    Raises:
        SubmissionError: The response has no code, or code that cannot be parsed. The message names the line.
    """
    text = text.encode("utf-8", "replace").decode()
    if _defines_all(text.removeprefix("\ufeff"), targets):
        return Response(text)
    try:
        whole = cleaned(text)
        plain = _without_reasoning(whole)
        if whole.strip() and not plain.strip():
            raise SubmissionError("no answer after the reasoning")
        if _defines_all(plain, targets):
            return Response(plain)
        inner = unwrapped(plain)
        if inner is not None:
            return from_response(inner, targets, known)
        lines = plain.split("\n")
        return _answer(lines, fenced_blocks(lines), targets, known)
    except SyntaxError as error:
        raise SubmissionError(unparsable(error)) from error
    except RecursionError as error:
        raise SubmissionError("the candidate's code is nested too deeply") from error


def unparsable(error: SyntaxError, line: int | None = None) -> str:
    """Return the message for code that Python cannot parse.

    Args:
        error: The error of the parser.
        line: The number of the line at fault; None for the line number in the error.
    """
    number = error.lineno if line is None else line
    place = f"line {number}: " if number else ""
    return f"the candidate can't be parsed: {place}{printable(error.msg)} ({_PYTHON})"


@dataclass(frozen=True)
class _ResponsePart:
    """A piece of a response: lines that may be code.

    Attributes:
        first: The index of the first line.
        passage: The code of these lines.
        block: The fenced block; None for the text between blocks.
        text: The lines as submitted.
        tree: The syntax tree of the code; None if the code is broken or empty.
    """

    first: int
    passage: Passage
    block: Block | None
    text: str
    tree: ast.Module | None

    @property
    def is_other(self) -> bool:
        """Whether the fence names a language other than Python."""
        return self.block is not None and bool(self.block.language) and not self.block.is_python

    @property
    def is_sure(self) -> bool:
        """Whether the piece is certainly code: it is marked as Python, or it has definitions or imports.

        Program output that a response quotes has neither.
        """
        marked = self.block is not None and self.block.is_python
        kinds = (DefinitionNode, ast.Import, ast.ImportFrom)
        return marked or bool(self.tree and any(isinstance(node, kinds) for node in self.tree.body))

    @property
    def refusal(self) -> SubmissionError:
        """The error that reports the broken code of the piece."""
        index, reason = self.passage.broken or (0, "invalid syntax")
        return SubmissionError(unparsable(SyntaxError(reason), self.first + index + 1))

    def span(self) -> str:
        """Return the line numbers in words, such as `lines 3 to 5`."""
        return _span(self.first, self.first + len(self.passage.lines) - 1)

    @property
    def functions(self) -> frozenset[str]:
        """The functions that the piece defines, or seems to define if its code is broken."""
        return frozenset(match["function"] for match in _BINDING.finditer(self.text) if match["function"])

    @property
    def names(self) -> frozenset[str]:
        """The names that the piece binds, or seems to bind if its code is broken."""
        return _names_in(self.text)


def _names_in(text: str) -> frozenset[str]:
    found = (match[match.lastgroup or 0] for match in _BINDING.finditer(text))
    return frozenset(name for names in found for name in re.findall(r"\w+", names))


def _defines_all(text: str, targets: Sequence[str]) -> bool:
    try:
        tree = syntax_tree(text)
    except SyntaxError:
        return False
    return all(_definitions(tree, target) for target in targets)


def _definitions(tree: ast.Module, target: str) -> list[Definition]:
    """Return the definitions of a target, including methods that are outside their class."""
    return definitions_named(tree, target) or definitions_named(tree, target.rpartition(".")[2])


def _without_reasoning(text: str) -> str:
    if not may_hold_reasoning(text):
        return text
    lines = text.split("\n")
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    blocks = [(opening, block) for opening, block in fenced_blocks(lines) if flush(block.lines) is not None]
    return without_reasoning(text, [(starts[opening], starts[block.end]) for opening, block in blocks])


def _answer(
    lines: Sequence[str], blocks: Sequence[tuple[int, Block]], targets: Sequence[str], known: Collection[str]
) -> Response:
    pieces = [_piece(block.start, block.lines, block) for _, block in blocks]
    chosen = [piece for piece in pieces if piece.tree and piece.is_sure and not piece.is_other]
    if not _all_defined(chosen, targets):
        for piece in pieces:
            if (inner := unwrapped(piece.text)) is not None:
                return from_response(inner, targets, known)
        chosen += [piece for piece in pieces if piece.is_other and _defined(piece, targets)]
    complete = _all_defined(chosen, targets)
    between = [*texts_between(lines, blocks)]
    if not complete or _missing(chosen, targets, known) & _names_in("\n".join(between)):
        piece = _piece(0, without_quotation(between), None)
        if _surrounds(piece, blocks):
            # The fences are inside a string, so they do not enclose blocks.
            return _answer(lines, [], targets, known)
        pieces.append(piece)
        if not complete and piece.tree and (_defined(piece, targets) or not chosen):
            chosen.append(piece)
    if not any(_defined(piece, targets) for piece in chosen) and not _CODE.search("\n".join(lines)):
        raise _no_code(lines)
    warnings = [*_needed_too(pieces, chosen, targets, known), *_broken(pieces, chosen, targets, known)]
    joined = [""] * len(lines)
    for piece in chosen:
        for number, line in enumerate(piece.passage.lines, piece.first):
            joined[number] = line or joined[number]
        warnings += _prose(piece)
    return Response("\n".join(_without_superseded(joined, chosen, targets)) + "\n", tuple(warnings))


def _surrounds(piece: _ResponsePart, blocks: Sequence[tuple[int, Block]]) -> bool:
    """Return whether a statement of the code between blocks, such as a long string, contains the fence of a block."""
    places = [opening + 1 for opening, _ in blocks]
    body = piece.tree.body if piece.tree else []
    return any(node.lineno < place <= (node.end_lineno or 0) for node in body for place in places)


def _tree(passage: Passage) -> ast.Module | None:
    tree = None if passage.broken else syntax_tree("\n".join(passage.lines))
    return tree if tree and tree.body else None


def _piece(first: int, lines: Sequence[str], block: Block | None) -> _ResponsePart:
    text = "\n".join(lines)
    strict = block is not None and block.is_python and block.closed
    passage = code_of(without_prompts(lines), strict)
    if passage.broken or passage.left_out:
        mended = code_of(without_html(text).split("\n"), strict)
        if not mended.broken and (passage.broken or len(mended.left_out) < len(passage.left_out)):
            passage = mended
    return _ResponsePart(first, passage, block, text, _tree(passage))


def _defined(piece: _ResponsePart, targets: Sequence[str]) -> bool:
    return piece.tree is not None and any(_definitions(piece.tree, target) for target in targets)


def _all_defined(pieces: Sequence[_ResponsePart], targets: Sequence[str]) -> bool:
    return all(any(_defined(piece, [target]) for piece in pieces) for target in targets)


def _needed_too(
    pieces: Sequence[_ResponsePart], chosen: list[_ResponsePart], targets: Sequence[str], known: Collection[str]
) -> Iterator[str]:
    """Add the pieces that bind names needed by the chosen pieces. Yield a warning for each block that is left out."""
    missing = _missing(chosen, targets, known)
    for piece in pieces:
        if piece.tree is None or piece in chosen or piece.is_other:
            continue
        if bound(*piece.tree.body) & missing:
            chosen.append(piece)
            missing = _missing(chosen, targets, known)
        elif piece.block is not None:
            yield f"{piece.span()}: no target needs this; left out"
    chosen.sort(key=lambda piece: piece.first)


def _broken(
    pieces: Sequence[_ResponsePart], chosen: Sequence[_ResponsePart], targets: Sequence[str], known: Collection[str]
) -> Iterator[str]:
    """Yield a warning for each piece of broken code that can be left out; raise SubmissionError for any other piece."""
    missing = _missing(chosen, targets, known)
    complete = _all_defined(chosen, targets)
    for piece in pieces:
        if not piece.passage.broken or piece.is_other:
            continue
        marked = piece.block is None or piece.block.is_python
        mentioned = [target for target in targets if target.rpartition(".")[2] in piece.functions]
        later = [other for other in chosen if other.first > piece.first]
        if (
            (marked and not complete)
            or not all(any(_is_real(other, target) for other in later) for target in mentioned)
            or missing & (piece.functions | (piece.names if marked else frozenset()))
        ):
            raise piece.refusal
        index, reason = piece.passage.broken
        yield f"{piece.span()}: broken code (line {piece.first + index + 1}: {printable(reason)}); left out"


def _is_real(piece: _ResponsePart, target: str) -> bool:
    return piece.tree is not None and any(not is_stub(node) for node, _, _ in _definitions(piece.tree, target))


def _missing(pieces: Sequence[_ResponsePart], targets: Sequence[str], known: Collection[str]) -> set[str]:
    """Return the names that the targets need, directly or indirectly, but that these pieces do not bind."""
    binders: dict[str, list[ast.stmt]] = {}
    queue: list[ast.stmt] = []
    for piece in pieces:
        assert piece.tree is not None
        classes = [node for node in ast.walk(piece.tree) if isinstance(node, ast.ClassDef)]
        for statement in (*piece.tree.body, *(member for node in classes for member in node.body)):
            for name in bound(statement):
                binders.setdefault(name, []).append(statement)
        queue += [node for target in targets for node, _, _ in _definitions(piece.tree, target)]
    owners = {"self", "cls", *(part for target in targets for part in target.split(".")[:-1])}
    needed: set[str] = set()
    for node in queue:  # The loop appends to the queue.
        for name in (used(node) | attributes(node, owners)) - needed:
            needed.add(name)
            queue += binders.get(name, ())
    return needed - binders.keys() - set(known) - set(dir(builtins))


def _no_code(lines: Sequence[str]) -> SubmissionError:
    said = " ".join(" ".join(lines).split())
    if not said:
        return SubmissionError("the answer is empty")
    quote = said if len(said) <= MOST_QUOTED else f"{said[:MOST_QUOTED]}…"
    return SubmissionError(f"no code in the answer: '{printable(quote)}'")


def _prose(piece: _ResponsePart) -> Iterator[str]:
    """Yield a warning for each run of lines of a piece that were left out as prose."""
    first = last = None
    for number in (*piece.passage.left_out, None):
        between = piece.text.split("\n")[last + 1 : number] if last is not None and number is not None else [" x"]
        if first is not None and last is not None and any(map(str.strip, between)):
            yield f"{_span(piece.first + first, piece.first + last)}: prose, not code; left out"
            first = None
        first, last = number if first is None else first, number


def _without_superseded(lines: list[str], chosen: Sequence[_ResponsePart], targets: Sequence[str]) -> list[str]:
    """Remove definitions that a later piece replaces, and stubs of functions that are also defined in full."""
    tree = syntax_tree("\n".join(lines))
    owners = {target.partition(".")[0] for target in targets if "." in target}
    named: dict[str, list[DefinitionNode]] = {}
    for node in tree.body:
        if isinstance(node, DefinitionNode) and node.name != "_" and node.name not in owners and not is_overload(node):
            named.setdefault(node.name, []).append(node)
    starts = Counter(node.lineno for node in tree.body)

    def piece_of(node: DefinitionNode) -> int:
        return sum(piece.first < node.lineno for piece in chosen)

    for nodes in named.values():
        real = [node for node in nodes if not is_stub(node)]
        for node in nodes:
            if not real or node is real[-1]:
                continue
            if is_stub(node) or (node.lineno < real[-1].lineno and piece_of(node) != piece_of(real[-1])):
                first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)]) - 1
                last = node.end_lineno or node.lineno
                if starts[node.lineno] == 1:
                    lines[first:last] = [""] * (last - first)
    return lines


def _span(first: int, last: int) -> str:
    return f"line {first + 1}" if first == last else f"lines {first + 1} to {last + 1}"
