"""Compare the masked file with a candidate's file, scope by scope.

The masked file is a file of the repository without the bodies of the targets, which are the functions that a task asks
for. The candidate's file is the submitted code.

A `Scope` is a body of statements that is in both files: the body of the module, or of a class that contains a target.
Its statements are *entries*. An import is one entry for each of its names, so that `from typing import Any, Optional`
can be compared with `from typing import Any`. A statement that contains a target is a *holder* and never an entry.
Docstrings and `from __future__` imports are neither.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from lmrbench.source.functions import Function, is_overload, is_stub
from lmrbench.source.names import attributes, bound, used, written
from lmrbench.source.syntax import FunctionNode, ParsedSource


@dataclass(frozen=True)
class TargetPair:
    """The definitions of one target in the two files.

    Attributes:
        mask: The function in the masked file.
        candidate: The function in the candidate's file.
    """

    mask: Function
    candidate: Function


@dataclass(frozen=True, eq=False)
class ScopeEntry:
    """One statement of a scope, or one name of an import.

    Attributes:
        node: The statement. For an import, a statement that imports this name only.
        origin: The statement as it is in the file.
        binds: The names that it binds.
        writes: The names of objects that it changes in place.
        key: Its `spelling`, which is the same for equal code.
    """

    node: ast.stmt
    origin: ast.stmt
    binds: frozenset[str]
    writes: frozenset[str]
    key: str

    @property
    def is_import(self) -> bool:
        """Whether the entry is `import x` or `from x import y` itself, not a `try` around one."""
        return isinstance(self.node, ast.Import | ast.ImportFrom)


@dataclass(frozen=True, eq=False)
class Side:
    """A scope in one of the two files.

    Attributes:
        body: Its statements.
        holders: The statements that contain a target.
        entries: Its other statements, with imports split by name.
        binds: The names that its entries and holders bind.
        keys: The keys of its entries.
    """

    body: tuple[ast.stmt, ...]
    holders: tuple[ast.stmt, ...]
    entries: tuple[ScopeEntry, ...]
    binds: frozenset[str]
    keys: frozenset[str]


@dataclass(frozen=True, eq=False)
class Scope:
    """A body of statements that is in both files.

    Attributes:
        path: The names of the classes that enclose it, outermost first; empty for the module.
        mask: The scope in the masked file.
        candidate: The scope in the candidate's file.
    """

    path: tuple[str, ...]
    mask: Side
    candidate: Side

    def label(self, name: str) -> str:
        """Qualify a name in this scope with the classes around it, as in `Class.name`."""
        return ".".join([*self.path, name])


def module_and_classes(mask: ParsedSource, candidate: ParsedSource, pairs: Sequence[TargetPair]) -> tuple[Scope, ...]:
    """Return the scope of the module, then those of all classes that contain a target, outer classes first.

    Several classes with the same name count as one. If the candidate defines a method outside its class, module-level
    functions and assignments that the class's methods use as attributes count as members of the class, too.
    """
    paths: dict[tuple[str, ...], tuple[list[ast.stmt], list[ast.stmt]]] = {(): (mask.tree.body, candidate.tree.body)}
    merged: list[ast.stmt] = []
    for pair in pairs:
        path: tuple[str, ...] = ()
        theirs = pair.candidate.parents
        for number, ours in enumerate(pair.mask.parents):
            if not isinstance(ours, ast.ClassDef) or not all(isinstance(node, ast.ClassDef) for node in theirs):
                break
            path = (*path, ours.name)
            if path in paths:
                paths[path][0].extend(node for node in ours.body if node not in paths[path][0])
                continue
            nodes = [*theirs[number : number + 1], *_classes(candidate.tree, path)]
            merged += nodes
            body = {id(part): part for node in nodes for part in node.body}
            paths[path] = [*ours.body], [*body.values()]
    members = {path: _members(path, paths[path], candidate, pairs) for path in paths if path}
    elsewhere = [part for parts in members.values() for part in parts]
    olds, news = [pair.mask.node for pair in pairs], [pair.candidate.node for pair in pairs]
    scopes = []
    for path, (ours_body, theirs_body) in paths.items():
        body_here = [part for part in theirs_body if part not in elsewhere] + members.get(path, [])
        body_here.sort(key=lambda part: part.lineno)
        scopes.append(Scope(path, _side(ours_body, olds), _side(_without_stubs(body_here), news, merged)))
    return tuple(scopes)


def _classes(tree: ast.Module, path: tuple[str, ...]) -> list[ast.ClassDef]:
    """Return all classes with the given path of names, such as ("Outer", "Inner"), in source order."""
    bodies: list[list[ast.stmt]] = [tree.body]
    found: list[ast.ClassDef] = []
    for name in path:
        found = [node for body in bodies for node in body if isinstance(node, ast.ClassDef) and node.name == name]
        bodies = [node.body for node in found]
    return found


def _members(
    path: tuple[str, ...],
    bodies: tuple[list[ast.stmt], list[ast.stmt]],
    candidate: ParsedSource,
    pairs: Sequence[TargetPair],
) -> list[ast.stmt]:
    """Return the module-level statements of the candidate that belong to a class with methods outside its body."""
    queue: list[ast.stmt] = []
    for pair in pairs:
        if tuple(parent.name for parent in pair.mask.parents) == path and not pair.candidate.parents:
            queue.append(pair.candidate.node)
    bare = len(queue)
    if not bare:
        return []
    plain = used(*candidate.tree.body)
    stored = {
        part.attr
        for node in bodies[0]
        for part in ast.walk(node)
        if isinstance(part, ast.Attribute) and isinstance(part.ctx, ast.Store)
    }
    queue += [node for node in bodies[1] if isinstance(node, FunctionNode)]
    members = queue[:bare]
    for node in queue:  # The loop appends to the queue.
        owners = {"self", "cls", path[-1]}
        if isinstance(node, FunctionNode):
            owners |= {parameter.arg for parameter in [*node.args.posonlyargs, *node.args.args][:1]}
        wanted = attributes(node, owners) - plain - stored
        for other in candidate.tree.body:
            kind = isinstance(other, FunctionNode | ast.Assign | ast.AnnAssign)
            if kind and bound(other) & wanted and other not in members:
                members.append(other)
                queue.append(other)
    return members


def _without_stubs(body: Sequence[ast.stmt]) -> list[ast.stmt]:
    """Drop the stubs of functions that the body also defines in full."""
    real = {node.name for node in body if isinstance(node, FunctionNode) and not is_stub(node)}
    return [
        node
        for node in body
        if not (isinstance(node, FunctionNode) and node.name in real and is_stub(node) and not is_overload(node))
    ]


def is_docstring(statement: ast.stmt) -> bool:
    """Return whether a statement is a string literal on its own."""
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )


def is_future(statement: ast.stmt) -> bool:
    """Return whether a statement is `from __future__ import ...`."""
    return isinstance(statement, ast.ImportFrom) and statement.module == "__future__" and not statement.level


def spelling(node: ast.AST) -> str:
    """Return a string that represents code without its layout, and contains the spelling of each part of the code.

    `ast.dump` is not used, because it fails for deeply nested code and for long integers.
    """
    parts: list[str] = []
    pending: list[object] = [node]
    while pending:
        item = pending.pop()
        if isinstance(item, ast.AST):
            parts.append(type(item).__name__)
            pending += [getattr(item, field, None) for field in reversed(item._fields)]
        elif isinstance(item, list):
            parts.append(f"[{len(item)}")
            pending += reversed(item)
        else:
            parts.append(hex(item) if type(item) is int else repr(item))
    return "".join(f"{part}\n" for part in parts)


def _side(body: Iterable[ast.stmt], targets: Iterable[FunctionNode], classes: Iterable[ast.stmt] = ()) -> Side:
    """Split a body into holders and entries. The statements in `classes` are holders, too."""
    body, lines = tuple(body), [target.lineno for target in targets]
    around = {id(node) for node in classes}
    holders = tuple(
        node
        for node in body
        if id(node) in around or any(node.lineno <= line <= (node.end_lineno or 0) for line in lines)
    )
    entries = tuple(
        entry
        for node in body
        if node not in holders and not is_docstring(node) and not is_future(node)
        for entry in _entries(node)
    )
    binds = frozenset(bound(*holders)).union(*(entry.binds for entry in entries))
    return Side(body, holders, entries, binds, frozenset(entry.key for entry in entries))


def _entries(statement: ast.stmt) -> Iterator[ScopeEntry]:
    parts: list[ast.stmt] = [statement]
    if isinstance(statement, ast.Import):
        parts = [ast.Import([alias]) for alias in statement.names]
    elif isinstance(statement, ast.ImportFrom):
        parts = [ast.ImportFrom(statement.module, [alias], statement.level) for alias in statement.names]
    for part in parts:
        # Code under `if __name__ == "__main__"` binds nothing when the file is imported.
        binds, writes = (set(), set()) if _is_main_guard(part) else (bound(part), written(part))
        yield ScopeEntry(part, statement, frozenset(binds), frozenset(writes), spelling(part))


def _is_main_guard(statement: ast.stmt) -> bool:
    match statement:
        case (
            ast.If(test=ast.Compare(ast.Name("__name__"), [ast.Eq()], [ast.Constant("__main__")]))
            | ast.If(test=ast.Compare(ast.Constant("__main__"), [ast.Eq()], [ast.Name("__name__")]))
        ):
            return True
    return False
