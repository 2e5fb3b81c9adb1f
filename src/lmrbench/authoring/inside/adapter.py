"""Where does a check find its target in a repository that it was not written for?

A check imports the target from a module of its own repository. `stand_in` makes a module of that name from another
file: from the target and the statements of the file that it needs, so that no package has to be there which the rest of
the file imports. A statement counts by the names that it binds; one that only changes an object is not found.
"""

import ast
import symtable
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType


def stand_in(module: str, file: str, name: str) -> None:
    """Make the module of that name, once, from a file below the current folder: the function and what it needs."""
    if module in sys.modules:
        return
    tree = ast.parse(Path(file).read_bytes())
    tree.body = statements_for(tree, name)
    made = ModuleType(module)
    made.__file__, made.__package__ = file, ".".join(Path(file).parts[:-1])
    code = compile(tree, file, "exec")
    sys.modules[module] = made
    try:
        exec(code, made.__dict__)
    except BaseException:
        del sys.modules[module]
        raise


def statements_for(tree: ast.Module, name: str) -> list[ast.stmt]:
    """The statements of a module that bind a name, and those that bind what these need, in their order.

    Of an import only the names that are needed.
    """
    known = [(part, *_names(part)) for statement in tree.body for part in _parts(statement)]
    taken: set[int] = set()
    waiting = {name}
    while waiting:
        found = {place for place, (_, binds, _) in enumerate(known) if binds & waiting} - taken
        taken |= found
        waiting = {other for place in found for other in known[place][2]}
    return [part for place, (part, _, _) in enumerate(known) if place in taken or _is_future(part)]


def _parts(statement: ast.stmt) -> Iterator[ast.stmt]:
    """A statement; an import as one for each of its names."""
    match statement:
        case ast.Import(names=names):
            yield from (ast.copy_location(ast.Import([alias]), statement) for alias in names)
        case ast.ImportFrom(module=module, names=names, level=level):
            yield from (ast.copy_location(ast.ImportFrom(module, [alias], level), statement) for alias in names)
        case _:
            yield statement


def _is_future(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.ImportFrom) and statement.module == "__future__"


def _names(statement: ast.stmt) -> tuple[set[str], set[str]]:
    """The names that a statement of a module binds there, and those that it or a function in it takes from there."""
    table = symtable.symtable(ast.unparse(statement), "statement", "exec")
    binds = {item.get_name() for item in table.get_symbols() if item.is_assigned() or item.is_imported()}
    return binds, {item.get_name() for item in table.get_symbols() if item.is_referenced()} | set(_globals(table))


def _globals(table: symtable.SymbolTable) -> Iterator[str]:
    for inner in table.get_children():
        yield from (item.get_name() for item in inner.get_symbols() if item.is_global())
        yield from _globals(inner)
