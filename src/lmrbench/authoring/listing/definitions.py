"""Collect the functions, classes and methods of a package, and find those that another version of it lacks.

A definition is present in another version if the same file there defines the same name, or if very similar code exists
there under another name or in another file. To measure similarity, the lines of the bodies are compared as
`ast.unparse` formats them, so comments, docstrings and signatures do not count.
"""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import PurePosixPath
from typing import Literal

from lmrbench.source.functions import is_overload
from lmrbench.source.syntax import DefinitionNode, FunctionNode, decode, syntax_tree
from lmrbench.tasks.model import Target

Kind = Literal["function", "class", "method"]
# Bodies with fewer lines are so common that two equal ones may have different origins.
FEWEST_LINES = 3
# The smallest share of common lines at which a removed and a new definition count as the same: for definitions with the
# same name, and for those with different names.
SAME_NAME, OTHER_NAME = 0.6, 0.8


@dataclass(frozen=True, eq=False)
class Definition:
    """A function, class or method of a file.

    Attributes:
        qualname: Its qualified name.
        kind: Whether it is a function, a class or a method.
        node: The definition in the syntax tree.
        text: Its source code, with decorators and comments.
    """

    qualname: str
    kind: Kind
    node: DefinitionNode
    text: str

    @cached_property
    def body(self) -> Counter[str]:
        """The lines of its body, with the number of times each occurs."""
        return Counter(_lines(self.node))

    @property
    def name(self) -> str:
        """The last part of the qualified name."""
        return self.node.name

    @property
    def lines(self) -> int:
        """The number of lines of its source code."""
        return len(self.text.splitlines())

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of its parameters (for a class, those of `__init__`), without `self` and `cls`."""
        node: DefinitionNode | None = self.node
        if isinstance(node, ast.ClassDef):
            node = next(
                (item for item in node.body if isinstance(item, FunctionNode) and item.name == "__init__"), None
            )
        if node is None:
            return ()
        arguments = node.args
        starred = [f"{stars}{item.arg}" for stars, item in (("*", arguments.vararg), ("**", arguments.kwarg)) if item]
        named = [item.arg for item in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
        return tuple([name for name in named if name not in ("self", "cls")] + starred)


@dataclass(frozen=True)
class Module:
    """A Python file.

    Attributes:
        tree: Its syntax tree.
        text: Its source code.
        definitions: Its functions, classes and methods, including those inside top-level `if` and `try` statements.
    """

    tree: ast.Module
    text: str
    definitions: tuple[Definition, ...]


class Package:
    """The modules and definitions of one version of a package.

    Files that can't be parsed, and tests, are left out.

    Attributes:
        modules: The modules, by path.
        definitions: The definitions, by place, that is, by file and qualified name.
    """

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self.modules: dict[str, Module] = {}
        for path in files:
            if path.endswith(".py") and not _is_test(path) and (module := _module(files[path])) is not None:
                self.modules[path] = module
        self.definitions = {
            Target(file=path, qualname=item.qualname): item
            for path, module in self.modules.items()
            for item in module.definitions
        }

    @cached_property
    def by_body(self) -> Mapping[frozenset[tuple[str, int]], list[Definition]]:
        """The definitions, grouped by the lines of their bodies."""
        found = defaultdict(list)
        for item in self.definitions.values():
            found[frozenset(item.body.items())].append(item)
        return found

    @cached_property
    def by_qualname(self) -> Mapping[str, list[Target]]:
        """The places of the definitions with each qualified name."""
        found = defaultdict(list)
        for place in self.definitions:
            found[place.qualname].append(place)
        return found


def copied(package: Package, other: Package, place: Target) -> bool:
    """Return whether another version has a definition with the same body.

    The name may differ, except for bodies of fewer than `FEWEST_LINES` lines.
    """
    item = package.definitions[place]
    equal = other.by_body.get(frozenset(item.body.items()), ())
    return any(item.body.total() >= FEWEST_LINES or found.name == item.name for found in equal)


def absent(package: Package, other: Package, places: Iterable[Target]) -> list[Target]:
    """Return the definitions that are not in another version, not even under another name or in another file.

    Args:
        package: The version that has the definitions.
        other: The other version.
        places: The places of the definitions to look for.
    """
    left = [place for place in other.definitions if place not in package.definitions]
    by_name = defaultdict(list)
    for place in left:
        by_name[place.qualname.rpartition(".")[2]].append(place)
    classes: dict[Target, Target | None] = {}

    def origin(place: Target) -> Target | None:
        """Return the place of a definition in the other version, or None if it is not there."""
        item = package.definitions[place]
        if place in other.definitions:
            return place
        same = [old for old in other.by_qualname.get(place.qualname, ()) if old not in package.definitions]
        if len(same) == 1 and len(package.by_qualname[place.qualname]) == 1:
            return same[0]
        if item.kind == "method":
            owner = Target(file=place.file, qualname=place.qualname.rpartition(".")[0])
            if owner not in classes:
                classes[owner] = origin(owner) if owner in package.definitions else None
            if (of := classes[owner]) is not None:
                moved = Target(file=of.file, qualname=f"{of.qualname}.{item.name}")
                if moved in other.definitions:
                    return moved
        candidates = [(old, SAME_NAME) for old in by_name[item.name]]
        if item.body.total() >= FEWEST_LINES:
            candidates += [(old, OTHER_NAME) for old in left]
        for old, least in candidates:
            found = other.definitions[old]
            if found.kind == item.kind and _likeness(item.body, found.body) >= least:
                return old
        return None

    return [place for place in places if origin(place) is None]


def _likeness(left: Counter[str], right: Counter[str]) -> float:
    total = left.total() + right.total()
    # Counting the common lines is slow. Their number is at most that of the shorter body's lines, so this bound is
    # checked first.
    if not total or 2 * min(left.total(), right.total()) < SAME_NAME * total:
        return 0.0
    return 2 * (left & right).total() / total


def _is_test(path: str) -> bool:
    parts = PurePosixPath(path).parts
    return parts[-1].startswith("test_") or any(part in ("test", "tests") for part in parts[:-1])


# Cached because most files are the same in the next version.
@lru_cache(maxsize=16384)
def _module(data: bytes) -> Module | None:
    try:
        text = decode(data)[0]
        tree = syntax_tree(text)
    except SyntaxError:
        return None
    lines = text.splitlines(keepends=True)
    return Module(tree, text, tuple(_definitions(tree.body, "", lines)))


def _definitions(body: Iterable[ast.stmt], prefix: str, lines: list[str]) -> Iterator[Definition]:
    for node in body:
        if isinstance(node, DefinitionNode):
            if not isinstance(node, ast.ClassDef) and is_overload(node):
                continue
            first = min([node.lineno, *(item.lineno for item in node.decorator_list)])
            text = "".join(lines[first - 1 : node.end_lineno])
            kind: Kind = "class" if isinstance(node, ast.ClassDef) else "method" if prefix else "function"
            yield Definition(prefix + node.name, kind, node, text)
            if isinstance(node, ast.ClassDef):
                yield from _definitions(node.body, f"{prefix}{node.name}.", lines)
        elif isinstance(node, ast.If | ast.Try):
            branches = [node.body, node.orelse, *(item.body for item in getattr(node, "handlers", ()))]
            for branch in branches:
                yield from _definitions(branch, prefix, lines)


def _lines(node: DefinitionNode) -> Iterator[str]:
    """Yield the lines of a body as `ast.unparse` formats them, without docstrings.

    A definition inside the body yields a line with its name, followed by its own lines.
    """
    for statement in node.body:
        if isinstance(statement, DefinitionNode):
            yield f"def {statement.name}"
            yield from _lines(statement)
        elif not (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)):
            yield from (line.strip() for line in ast.unparse(statement).splitlines())
