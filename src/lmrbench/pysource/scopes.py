"""What do the masked file and a candidate's file have in common, scope by scope?

A `Scope` is one body that both have: the module's, or that of a class that holds a target. Its statements are
*entries*, an import being one entry for each of its names, so that `from typing import Any, Optional` can be compared
with `from typing import Any`. A statement that a target is in is a *holder* and never an entry; docstrings and
`from __future__` imports are neither.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from lmrbench.pysource.functions import Function
from lmrbench.pysource.names import bound, written
from lmrbench.pysource.source import FunctionNode, Source


@dataclass(frozen=True)
class Pair:
    """One target, as it is in the mask and in the candidate."""

    mask: Function
    candidate: Function


@dataclass(frozen=True, eq=False)
class Entry:
    """One statement of a scope, or one name of an import: `node` then holds that name only, `origin` all of them."""

    node: ast.stmt
    origin: ast.stmt
    binds: frozenset[str]
    writes: frozenset[str]
    key: str

    @property
    def is_import(self) -> bool:
        """True for `import x` and `from x import y` themselves, not for a `try` around them."""
        return isinstance(self.node, ast.Import | ast.ImportFrom)


@dataclass(frozen=True, eq=False)
class Side:
    """A scope as one of the two files has it.

    binds: all the names that its entries and holders bind. keys: what its entries say, wherever they stand.
    """

    body: tuple[ast.stmt, ...]
    holders: tuple[ast.stmt, ...]
    entries: tuple[Entry, ...]
    binds: frozenset[str]
    keys: frozenset[str]


@dataclass(frozen=True, eq=False)
class Scope:
    """A body that both files have. path: the names of the classes that lead to it, none for the module's."""

    path: tuple[str, ...]
    mask: Side
    candidate: Side

    def label(self, name: str) -> str:
        """`Class.name`, as a reader of the file would call it."""
        return ".".join([*self.path, name])


def module_and_classes(mask: Source, candidate: Source, pairs: Sequence[Pair]) -> tuple[Scope, ...]:
    """The module's scope, then that of every class around a target, outer ones first."""
    paths: dict[tuple[str, ...], tuple[list[ast.stmt], list[ast.stmt]]] = {(): (mask.tree.body, candidate.tree.body)}
    seen: set[int] = set()
    for pair in pairs:
        path: tuple[str, ...] = ()
        for ours, theirs in zip(pair.mask.parents, pair.candidate.parents, strict=False):
            if not isinstance(ours, ast.ClassDef) or not isinstance(theirs, ast.ClassDef):
                break
            path = (*path, ours.name)
            bodies = paths.setdefault(path, ([], []))
            for body, node in zip(bodies, (ours, theirs), strict=True):
                if id(node) not in seen:
                    seen.add(id(node))
                    body += node.body
    olds, news = [pair.mask.node for pair in pairs], [pair.candidate.node for pair in pairs]
    return tuple(Scope(path, _side(ours, olds), _side(theirs, news)) for path, (ours, theirs) in paths.items())


def is_docstring(statement: ast.stmt) -> bool:
    """True for a string that stands alone."""
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )


def is_future(statement: ast.stmt) -> bool:
    """True for `from __future__ import ...`."""
    return isinstance(statement, ast.ImportFrom) and statement.module == "__future__"


def spelling(node: ast.AST) -> str:
    """What a node says, wherever it stands: equal code is spelled alike, and a node's spelling is part of its parent's.

    In place of `ast.dump`, which fails on code that is nested deeply and on long integers.
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


def _side(body: Iterable[ast.stmt], targets: Iterable[FunctionNode]) -> Side:
    body, lines = tuple(body), [target.lineno for target in targets]
    holders = tuple(node for node in body if any(node.lineno <= line <= (node.end_lineno or 0) for line in lines))
    entries = tuple(
        entry
        for node in body
        if node not in holders and not is_docstring(node) and not is_future(node)
        for entry in _entries(node)
    )
    binds = frozenset(bound(*holders)).union(*(entry.binds for entry in entries))
    return Side(body, holders, entries, binds, frozenset(entry.key for entry in entries))


def _entries(statement: ast.stmt) -> Iterator[Entry]:
    parts: list[ast.stmt] = [statement]
    if isinstance(statement, ast.Import):
        parts = [ast.Import([alias]) for alias in statement.names]
    elif isinstance(statement, ast.ImportFrom):
        parts = [ast.ImportFrom(statement.module, [alias], statement.level) for alias in statement.names]
    for part in parts:
        # What stands under `if __name__ == "__main__"` binds nothing when the file is imported.
        binds, writes = (set(), set()) if _is_main_guard(part) else (bound(part), written(part))
        yield Entry(part, statement, frozenset(binds), frozenset(writes), spelling(part))


def _is_main_guard(statement: ast.stmt) -> bool:
    match statement:
        case (
            ast.If(test=ast.Compare(ast.Name("__name__"), [ast.Eq()], [ast.Constant("__main__")]))
            | ast.If(test=ast.Compare(ast.Constant("__main__"), [ast.Eq()], [ast.Name("__name__")]))
        ):
            return True
    return False
