"""Where in a Python file is a function, and what does the file look like without its body?

`find` names functions as pytest does: `function`, `Class.method`, `Outer.Inner.method`, `outer.inner`. `@overload`
stubs and property setters and deleters step back behind the definition that they belong to; a name with two
real definitions is refused.

`mask` replaces bodies by their docstring and `raise NotImplementedError`, and touches no byte outside of them. A
body ends with the last comment that is indented deeper than its `def`: comments could tell the answer.
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

# A function, the definitions around it, outermost first, and the list of statements that holds it.
Definition = tuple[FunctionNode, tuple[DefinitionNode, ...], list[ast.stmt]]


@dataclass(frozen=True)
class Function:
    """One function of a `ParsedSource`, with offsets into its text.

    start: of its first decorator. header: of `def` or `async`. body: where the part that `mask` replaces begins.
    end: behind that part, before its newline. parents: the definitions around it, outermost first. siblings: the
    list of statements that holds it.
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
    """The one function that `qualname` names in a file; a TaskError says why there is none."""
    try:
        source = _parsed(data)
    except SyntaxError as error:
        raise TaskError(f"{qualname}: the file can't be parsed: {describe(error)}") from error
    return _only(source, qualname)


@lru_cache(maxsize=128)
def _parsed(data: bytes) -> ParsedSource:
    # Tasks of a paper share files, and are asked about more than once.
    return ParsedSource.parse(decode(data)[0])


def mask(data: bytes, qualnames: Iterable[str]) -> bytes:
    """The file with the bodies of these functions replaced. Raises TaskError, naming the one that can't be."""
    try:
        _, encoding = decode(data)
        source = _parsed(data)
    except SyntaxError as error:
        raise TaskError(describe(error)) from error
    functions = sorted((_only(source, name) for name in dict.fromkeys(qualnames)), key=lambda found: found.body)
    for outer, inner in pairwise(functions):
        if inner.body < outer.end:
            raise TaskError(f"{inner.qualname}: lies inside of {outer.qualname}, which is masked too")
    edits = [(found.body, found.end, _masked_body(source, found)) for found in functions]
    return splice(source.text, edits).encode(encoding)


def definitions_named(tree: ast.Module, qualname: str) -> list[Definition]:
    """The real definitions of a name, in the order of the text: more than one where branches or lines repeat it."""
    found: list[Definition] = [
        (node, parents, siblings)
        for name, node, parents, siblings in _definitions(tree.body)
        if name == qualname and isinstance(node, FunctionNode) and not is_overload(node)
    ]
    return [entry for entry in found if not _is_accessor(entry[0])] or found


def functions_named(source: ParsedSource, qualname: str) -> tuple[Function, ...]:
    """The real definitions of a name, with their places in the text."""
    return tuple(measured(source, qualname, *entry) for entry in definitions_named(source.tree, qualname))


def near_misses(source: ParsedSource, qualname: str) -> tuple[str, ...]:
    """Functions of the file that are called nearly so, best first."""
    names = [name for name, node, _, _ in _definitions(source.tree.body) if isinstance(node, FunctionNode)]
    same_end = [name for name in names if name.rpartition(".")[2] == qualname.rpartition(".")[2]]
    return tuple(dict.fromkeys([*same_end, *difflib.get_close_matches(qualname, names)]))[:3]


def _only(source: ParsedSource, qualname: str) -> Function:
    found = functions_named(source, qualname)
    if len(found) == 1:
        return found[0]
    if found:
        lines = ", ".join(str(function.node.lineno) for function in found)
        raise TaskError(f"{qualname}: defined more than once (lines {lines}); a target has one definition")
    for name, node, _, _ in _definitions(source.tree.body):
        if name == qualname:
            kind = {ast.ClassDef: "a class", ast.Assign: "a lambda", ast.AnnAssign: "a lambda"}.get(type(node))
            raise TaskError(f"{qualname}: is {kind or 'only an @overload stub'}; a target is a function or a method")
    near = near_misses(source, qualname)
    raise TaskError(f"{qualname}: no such function" + (f"; near: {', '.join(near)}" if near else ""))


def _definitions(
    body: list[ast.stmt],
) -> Iterator[tuple[str, ast.stmt, tuple[DefinitionNode, ...], list[ast.stmt]]]:
    """Every function, class and named lambda below a body: qualified name, node, parents, siblings."""
    # A loop, because an `elif` lies as deep as there are branches before it.
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
    """Whether a function is empty, but for a docstring: `...`, `pass`, `raise NotImplementedError`.

    A class is where all that it holds is.
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
    """Whether a definition is a stub of `@overload`."""
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
    """A definition with its places in the text."""
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
