"""Rewrite a program with other local names and another layout, without changing what it does.

Local variables of functions are renamed, and the text is generated from the syntax tree, which drops comments and
layout. Parameters, attributes, and the names of modules, classes and functions are kept, because other files use them.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def renamed(text: str) -> str:
    """Return the text of a Python file with renamed local variables and without comments.

    Raises:
        SyntaxError: Python cannot parse the text.
    """
    tree = ast.parse(text)
    kept = {*dir(builtins), *_bound_outside(tree)}
    for function in _outermost(tree):
        locals_ = dict.fromkeys(name for name in _stored(function) if name not in kept | _fixed(function))
        _Renaming({name: f"v{number}" for number, name in enumerate(locals_, 1)}).visit(function)
    return ast.unparse(tree) + "\n"


class _Renaming(ast.NodeTransformer):
    def __init__(self, names: dict[str, str]) -> None:
        self._names = names

    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.Name(self._names.get(node.id, node.id), node.ctx)


def _outermost(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield the functions that are not inside another function."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, _FUNCTIONS):
            yield node
        else:
            yield from _outermost(node)


def _bound_outside(tree: ast.AST) -> Iterator[str]:
    """Yield the names that are bound or used outside functions."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
            yield node.name
        if isinstance(node, ast.Name):
            yield node.id
        if isinstance(node, ast.alias):
            yield (node.asname or node.name).partition(".")[0]
        if not isinstance(node, _FUNCTIONS):
            yield from _bound_outside(node)


def _stored(function: ast.AST) -> Iterator[str]:
    for node in ast.walk(function):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store | ast.Del):
            yield node.id


def _fixed(function: ast.AST) -> set[str]:
    """Return the names in a function that must be kept.

    These are its parameters, names that are bound by imports, definitions, `except` or patterns, and names that are
    declared `global` or `nonlocal`.
    """
    found: set[str] = set()
    for node in ast.walk(function):
        match node:
            case ast.arg(arg=name):
                found.add(name)
            case ast.Global(names=names) | ast.Nonlocal(names=names):
                found.update(names)
            case ast.alias(name=name, asname=other):
                found.add((other or name).partition(".")[0])
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                found.add(name)
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                found.add(name)
            case ast.MatchMapping(rest=str(name)):
                found.add(name)
    return found
