"""Reduce a module to one function and everything it needs, directly or indirectly.

This file imports nothing from lmrbench, because its text is inserted before checks that run inside a sandbox.
"""

from __future__ import annotations

import ast
import symtable
from collections.abc import Iterator


def statements_for(tree: ast.Module, name: str) -> list[ast.stmt]:
    """Return the statements of a module that bind a name or anything that these statements need, in original order.

    Imports are reduced to the names that are needed. A statement that binds no name is left out, even if it changes an
    object in place.
    """
    return reached(parts_of(tree), name)


def parts_of(tree: ast.Module) -> list[ast.stmt]:
    """Return the statements of a module, with imports and parallel assignments split into one statement per name."""
    return [part for statement in tree.body for part in _parts(statement)]


def reached(parts: list[ast.stmt], name: str) -> list[ast.stmt]:
    """Return the parts of a module that bind a name or anything that these parts need.

    Args:
        parts: The result of `parts_of`.
        name: The name.
    """
    known = [(part, *names_of(part)) for part in parts]
    taken: set[int] = set()
    waiting = {name}
    while waiting:
        found = {place for place, (_, binds, _) in enumerate(known) if binds & waiting} - taken
        taken |= found
        waiting = {other for place in found for other in known[place][2]}
    return [part for place, (part, _, _) in enumerate(known) if place in taken or _is_future(part)]


def names_of(statement: ast.stmt) -> tuple[set[str], set[str]]:
    """Return the names that a statement binds in its module, and the module's names that it uses."""
    table = symtable.symtable(ast.unparse(statement), "statement", "exec")
    binds = {item.get_name() for item in table.get_symbols() if item.is_assigned() or item.is_imported()}
    return binds, {item.get_name() for item in table.get_symbols() if item.is_referenced()} | set(_globals(table))


def _parts(statement: ast.stmt) -> Iterator[ast.stmt]:
    match statement:
        case ast.Import(names=names):
            yield from (ast.copy_location(ast.Import([alias]), statement) for alias in names)
        case ast.ImportFrom(module=module, names=names, level=level):
            yield from (ast.copy_location(ast.ImportFrom(module, [alias], level), statement) for alias in names)
        case ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Tuple(elts=values)) if _are_renamed(names, values):
            for name, value in zip(names, values, strict=True):
                yield ast.copy_location(ast.Assign([name], value), statement)
        case _:
            yield statement


def _are_renamed(names: list[ast.expr], values: list[ast.expr]) -> bool:
    """Return whether both sides are equally long lists of names and have no name in common."""
    if len(names) != len(values) or not all(isinstance(item, ast.Name) for item in (*names, *values)):
        return False
    return not {ast.unparse(item) for item in names} & {ast.unparse(item) for item in values}


def _is_future(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.ImportFrom) and statement.module == "__future__"


def _globals(table: symtable.SymbolTable) -> Iterator[str]:
    for inner in table.get_children():
        yield from (item.get_name() for item in inner.get_symbols() if item.is_global())
        yield from _globals(inner)
