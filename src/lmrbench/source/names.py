"""Determine which names a piece of Python binds, uses and modifies.

Scopes follow the rules of Python: a name that a function binds is local to it, the variables of a comprehension are
local to it, and names in a class body may refer to the enclosing scope. If the result depends on run-time behaviour
(names in class bodies, annotations), `used` returns too many names rather than too few.
"""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Iterable, Iterator, Sequence

from lmrbench.source.syntax import syntax_tree

_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda, *_COMPREHENSIONS)


def bound(*nodes: ast.AST) -> set[str]:
    """Return the names that nodes bind in the scope that contains them."""
    names: set[str] = set()
    for node in _same_scope(nodes):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                names.add(name)
            case ast.Name(id=name, ctx=ast.Store()):
                names.add(name)
            case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
                names.update(alias.asname or alias.name.partition(".")[0] for alias in aliases)
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                names.add(name)
            case ast.MatchMapping(rest=str(name)):
                names.add(name)
            case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                names.update(part.target.id for part in ast.walk(node) if isinstance(part, ast.NamedExpr))
    return names - {"*"}


def used(*nodes: ast.AST, deferred: bool = True) -> set[str]:
    """Return the names that nodes look up in the scope that contains them or outside it.

    Args:
        nodes: Statements or expressions of one scope.
        deferred: Whether to include names that are looked up only when a function is called.
    """
    names: set[str] = set()
    for node in _same_scope(nodes):
        match node:
            case ast.Name(id=name, ctx=ast.Load() | ast.Del()) | ast.AugAssign(target=ast.Name(id=name)):
                names.add(name)
            case ast.Global(names=declared) | ast.Nonlocal(names=declared):
                names.update(declared)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                head = [*node.decorator_list, node.args, *([node.returns] if node.returns else [])]
                names |= _used_by_function(head, node.args, node.body, deferred) - _type_parameters(node)
            case ast.Lambda():
                names |= _used_by_function([node.args], node.args, [node.body], deferred)
            case ast.ClassDef():
                names |= used(*ast.iter_child_nodes(node), deferred=deferred) - _type_parameters(node)
                names |= _in_quoted_annotations(node)
            case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                outermost = node.generators[0]
                inside = [part for part in ast.iter_child_nodes(node) if part is not outermost]
                own = bound(*(generator.target for generator in node.generators))
                names |= used(outermost.iter, deferred=deferred)
                names |= used(*inside, outermost.target, *outermost.ifs, deferred=deferred) - own
    return names


def _in_quoted_annotations(node: ast.ClassDef) -> set[str]:
    """Return the names in the quoted annotations of a class's fields, which `dataclass` and similar tools evaluate."""
    names: set[str] = set()
    for part in node.body:
        match part:
            case ast.AnnAssign(annotation=ast.Constant(value=str(text))):
                with contextlib.suppress(SyntaxError):
                    names |= used(syntax_tree(text))
    return names


def written(node: ast.AST) -> set[str]:
    """Return the names of objects that a statement changes in place, such as `x` in `x[0] = 1` or `x.append(1)`."""
    names: set[str | None] = set()
    for part in _same_scope([node]):
        match part:
            case ast.Subscript(ctx=ast.Store() | ast.Del()) | ast.Attribute(ctx=ast.Store() | ast.Del()):
                names.add(_root(part))
            case ast.Expr(value=ast.Call(func=ast.Attribute() as method)):
                names.add(_root(method))
    return {name for name in names if name}


def attributes(node: ast.AST, roots: Iterable[str]) -> set[str]:
    """Return the attributes that a node reads or sets on objects with the given names.

    Args:
        node: A statement or expression.
        roots: The names of the objects, such as `self`. `type(self).x` and `self.__class__.x` count as `self.x`.
    """
    roots = set(roots)
    return {part.attr for part in ast.walk(node) if isinstance(part, ast.Attribute) and _owner(part.value) in roots}


def _same_scope(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """Yield nodes and their descendants in the same scope. A node with its own scope is yielded but not entered."""
    pending = list(nodes)
    while pending:
        node = pending.pop()
        yield node
        if not isinstance(node, _SCOPES):
            pending.extend(ast.iter_child_nodes(node))


def _used_by_function(
    head: Sequence[ast.AST], args: ast.arguments, body: Sequence[ast.AST], deferred: bool
) -> set[str]:
    outside = used(*head, deferred=deferred)
    if not deferred:
        return outside
    declared = set().union(*(part.names for part in _same_scope(body) if isinstance(part, ast.Global | ast.Nonlocal)))
    parameters = {part.arg for part in ast.iter_child_nodes(args) if isinstance(part, ast.arg)}
    return outside | (used(*body) - ((parameters | bound(*body)) - declared))


def _type_parameters(node: ast.AST) -> set[str]:
    return {parameter.name for parameter in getattr(node, "type_params", ())}


def _root(node: ast.AST) -> str | None:
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else None


def _owner(node: ast.AST) -> str | None:
    while True:
        match node:
            case ast.Name(id=name):
                return name
            case ast.Attribute(value=value, attr="__class__") | ast.Call(func=ast.Name(id="type"), args=[value]):
                node = value
            case _:
                return None
