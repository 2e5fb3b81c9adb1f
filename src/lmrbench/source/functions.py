"""Find functions in a Python file by qualified name, and mask their bodies.

A qualified name has the form `function`, `Class.method`, `Outer.Inner.method`, or `outer.inner` for a function inside
another. `@overload` stubs, property setters and property deleters are ignored in favour of the definition that they
belong to. Otherwise, it is an error if a name has two definitions.

`mask` hides the targets, which are the functions that a task asks for. It replaces a body with its docstring and
`raise NotImplementedError`, and changes no other byte. A body extends to the last comment that is indented deeper than
its `def`, because comments can reveal the answer.
"""

from __future__ import annotations

import ast
import difflib
import tokenize
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from lmrbench.errors import TaskError
from lmrbench.source.syntax import DefinitionNode, FunctionNode, ParsedSource, decode, describe, splice

_STUB = "raise NotImplementedError"

# A function, the definitions that enclose it (outermost first), and the list of statements that contains it.
Definition = tuple[FunctionNode, tuple[DefinitionNode, ...], list[ast.stmt]]


@dataclass(frozen=True)
class Function:
    """One function of a `ParsedSource`, with offsets into its text.

    Attributes:
        qualname: The qualified name, such as `Class.method`.
        node: The definition in the syntax tree.
        parents: The definitions that enclose it, outermost first.
        siblings: The list of statements that contains it.
        start: The offset of its first decorator, or of the header if it has no decorator.
        header: The offset of `def` or `async`.
        body: The offset at which the part that `mask` replaces begins.
        end: The offset at which that part ends, before its newline.
        one_line: Whether the body is on the same line as the colon before it.
    """

    qualname: str
    node: FunctionNode
    parents: tuple[DefinitionNode, ...]
    siblings: list[ast.stmt]
    start: int
    header: int
    body: int
    end: int
    one_line: bool


def find(data: bytes, qualname: str) -> Function:
    """Return the function with the given qualified name.

    Args:
        data: The content of the file.
        qualname: The qualified name, such as `Class.method`.

    Raises:
        TaskError: The file cannot be parsed, or does not define exactly one function of that name.
    """
    try:
        source = _parsed(data)
    except SyntaxError as error:
        raise TaskError(f"{qualname}: the file can't be parsed: {describe(error)}") from error
    return _only(source, qualname)


@lru_cache(maxsize=128)
def _parsed(data: bytes) -> ParsedSource:
    # Results are cached, because several tasks of a paper often have targets in the same file.
    return ParsedSource.parse(decode(data)[0])


def mask(data: bytes, qualnames: Iterable[str]) -> bytes:
    """Mask functions in a file: replace each body with its docstring and `raise NotImplementedError`.

    Args:
        data: The content of the file.
        qualnames: The qualified names of the functions.

    Returns:
        The content of the masked file.

    Raises:
        TaskError: A function is missing or ambiguous, or is inside another of these functions. The message names it.
    """
    try:
        _, encoding = decode(data)
        source = _parsed(data)
    except SyntaxError as error:
        raise TaskError(describe(error)) from error
    functions = sorted((_only(source, name) for name in dict.fromkeys(qualnames)), key=lambda found: found.body)
    for outer, inner in pairwise(functions):
        if inner.body < outer.end:
            raise TaskError(f"{inner.qualname} is defined inside {outer.qualname}, which is masked too")
    edits = [(found.body, found.end, _masked_body(source, found)) for found in functions]
    return splice(source.text, edits).encode(encoding)


def definitions_named(tree: ast.Module, qualname: str) -> list[Definition]:
    """Return the definitions of a qualified name in source order, except overload stubs, setters and deleters.

    There are several if the name is defined in several branches, or defined again later in the file.
    """
    found: list[Definition] = [
        (node, parents, siblings)
        for name, node, parents, siblings in _definitions(tree.body)
        if name == qualname and isinstance(node, FunctionNode) and not is_overload(node)
    ]
    return [entry for entry in found if not _is_accessor(entry[0])] or found


def functions_named(source: ParsedSource, qualname: str) -> tuple[Function, ...]:
    """Return the definitions that `definitions_named` finds, with their offsets."""
    return tuple(measured(source, qualname, *entry) for entry in definitions_named(source.tree, qualname))


def near_misses(source: ParsedSource, qualname: str) -> tuple[str, ...]:
    """Return the qualified names of up to three functions with a similar name, most similar first."""
    names = [name for name, node, _, _ in _definitions(source.tree.body) if isinstance(node, FunctionNode)]
    same_end = [name for name in names if name.rpartition(".")[2] == qualname.rpartition(".")[2]]
    return tuple(dict.fromkeys([*same_end, *difflib.get_close_matches(qualname, names)]))[:3]


def _only(source: ParsedSource, qualname: str) -> Function:
    found = functions_named(source, qualname)
    if len(found) == 1:
        return found[0]
    if found:
        lines = ", ".join(str(function.node.lineno) for function in found)
        raise TaskError(f"{qualname}: defined more than once (lines {lines}); a target must have one definition")
    for name, node, _, _ in _definitions(source.tree.body):
        if name == qualname:
            kind = {ast.ClassDef: "a class", ast.Assign: "a lambda", ast.AnnAssign: "a lambda"}.get(type(node))
            raise TaskError(f"{qualname} is {kind or 'only an @overload stub'}; a target must be a function or method")
    near = near_misses(source, qualname)
    raise TaskError(f"{qualname}: no such function" + (f"; similar: {', '.join(near)}" if near else ""))


def _definitions(
    body: list[ast.stmt],
) -> Iterator[tuple[str, ast.stmt, tuple[DefinitionNode, ...], list[ast.stmt]]]:
    """Yield the qualified name, node, parents and siblings of each function, class and named lambda in a body."""
    # In the syntax tree, each `elif` is nested in the branch before it, so recursion could fail for a long chain.
    pending: list[tuple[ast.stmt, tuple[DefinitionNode, ...], list[ast.stmt]]]
    pending = [(node, (), body) for node in reversed(body)]
    while pending:
        node, parents, siblings = pending.pop()
        if isinstance(node, DefinitionNode):
            yield _qualified(parents, node.name), node, parents, siblings
            pending += [(inner, (*parents, node), node.body) for inner in reversed(node.body)]
            continue
        if isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(node.value, ast.Lambda):
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                if isinstance(target, ast.Name):
                    yield _qualified(parents, target.id), node, parents, siblings
        for branch in reversed([*_branches(node)]):
            pending += [(inner, parents, branch) for inner in reversed(branch)]


def _qualified(parents: tuple[DefinitionNode, ...], name: str) -> str:
    return ".".join([*(parent.name for parent in parents), name])


def _branches(node: ast.stmt) -> Iterator[list[ast.stmt]]:
    for field in ("body", "orelse", "finalbody"):
        yield getattr(node, field, [])
    for part in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
        yield part.body


def is_stub(node: DefinitionNode) -> bool:
    """Return whether a definition contains only a docstring, `...`, `pass` or `raise NotImplementedError`.

    A class is a stub if its methods and inner classes are stubs and it has no other code.
    """
    return all(_is_idle(part) or (isinstance(part, DefinitionNode) and is_stub(part)) for part in node.body)


def _is_idle(statement: ast.stmt) -> bool:
    match statement:
        case ast.Pass():
            return True
        case ast.Expr(value=ast.Constant(value=value)):
            return isinstance(value, str) or value is ...
        case ast.Raise(exc=ast.Call(func=raised)) | ast.Raise(exc=raised):
            return getattr(raised, "id", getattr(raised, "attr", "")) == "NotImplementedError"
    return False


def is_overload(node: DefinitionNode) -> bool:
    """Return whether a definition is decorated with `@overload`."""
    names = (getattr(decorator, "attr", getattr(decorator, "id", "")) for decorator in node.decorator_list)
    return "overload" in names


def _is_accessor(node: FunctionNode) -> bool:
    return any(
        isinstance(decorator, ast.Attribute) and decorator.attr in ("setter", "deleter")
        for decorator in node.decorator_list
    )


def measured(
    source: ParsedSource,
    qualname: str,
    node: FunctionNode,
    parents: tuple[DefinitionNode, ...],
    siblings: list[ast.stmt],
) -> Function:
    """Determine the offsets of a definition, and return the definition with its offsets as a `Function`.

    Args:
        source: The file that contains the definition.
        qualname: Its qualified name.
        node: The definition.
        parents: The definitions that enclose it, outermost first.
        siblings: The list of statements that contains it.
    """
    start, end = source.extent(node)
    first = source.extent(node.body[0])[0]
    colon = source.token_at(first) - 1
    while source.tokens[colon].string != ":":
        colon -= 1
    line = source.tokens[colon].start[0]
    one_line = source.tokens[colon + 1].type not in (tokenize.COMMENT, tokenize.NEWLINE)
    body = first if one_line else source.starts[line]
    return Function(qualname, node, parents, siblings, start, source.begin(node), body, end, one_line)


def _masked_body(source: ParsedSource, function: Function) -> str:
    first = function.node.body[0]
    docstring = ""
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
        docstring = source.text[source.begin(first) : source.finish(first)]
    if function.one_line:
        return f"{docstring}; {_STUB}" if docstring else _STUB
    margin = source.margin(source.extent(first)[0])
    newline = source.newline(source.begin(first))
    return f"{margin}{docstring}{newline}{margin}{_STUB}" if docstring else margin + _STUB
