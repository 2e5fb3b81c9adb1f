"""Find the helpers that only the targets (the functions to mask) use. Masking them, too, makes a task harder.

Uses are found by name: a function is not a helper if any other code mentions its name, even as a string. Functions
whose name is defined more than once are not helpers either, nor are special methods, which Python calls implicitly.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from lmrbench.source.functions import find
from lmrbench.source.syntax import DefinitionNode, FunctionNode
from lmrbench.tasks.model import Target


def closure(files: Mapping[str, bytes], targets: Iterable[Target]) -> tuple[Target, ...]:
    """Return the targets and the helpers, that is, the functions used only by the targets or by other helpers.

    Args:
        files: The contents of the repository's files, by path. Files that are not valid Python are ignored.
        targets: The targets to start from.

    Returns:
        The targets, followed by the helpers in the order in which they are found.

    Raises:
        TaskError: A target is not in the repository.
    """
    found = list(dict.fromkeys(targets))
    trees = dict(_trees(files))
    everything = Counter(name for tree in trees.values() for name in _mentions(tree))
    helpers: dict[str, list[tuple[Target, FunctionNode]]] = {}
    for path, tree in trees.items():
        for qualname, node in _functions(tree.body, ""):
            helpers.setdefault(node.name, []).append((Target(file=path, qualname=qualname), node))
    bodies = [find(files[target.file], target.qualname).node for target in found]
    growing = True
    while growing:
        growing = False
        inside = Counter(name for body in bodies for name in _mentions(body))
        for name, places in helpers.items():
            target, node = places[0]
            own = Counter(_mentions(node))[name]
            is_special = name.startswith("__") and name.endswith("__")
            if len(places) > 1 or is_special or target in found or not inside[name]:
                continue
            if inside[name] + own == everything[name]:
                found.append(target)
                bodies.append(node)
                growing = True
                break
    return tuple(found)


def _trees(files: Mapping[str, bytes]) -> Iterator[tuple[str, ast.Module]]:
    for path, data in files.items():
        if path.endswith(".py"):
            try:
                yield path, ast.parse(data)
            except (SyntaxError, ValueError):
                continue


def _functions(body: list[ast.stmt], prefix: str) -> Iterator[tuple[str, FunctionNode]]:
    for node in body:
        if isinstance(node, FunctionNode):
            yield prefix + node.name, node
        elif isinstance(node, DefinitionNode):
            yield from _functions(node.body, f"{prefix}{node.name}.")


def _mentions(tree: ast.AST) -> Iterator[str]:
    """Yield each name as often as it is used.

    Imports do not count. Strings that are identifiers count, because they may be passed to `getattr`.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.isidentifier():
            yield node.value
