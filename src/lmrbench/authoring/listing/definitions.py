"""The functions, classes and methods of a package, and which of them another version has already.

Another version has a definition if it has one of that name in the same file, or one that was moved or renamed since.
Bodies are compared line by line as Python writes them, without comments, docstrings and annotations of arguments.
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
# A shorter body says little about where it comes from.
FEWEST_LINES = 3
# The share of common lines from which a body that left one place and one that appeared elsewhere are the same.
SAME_NAME, OTHER_NAME = 0.6, 0.8


@dataclass(frozen=True, eq=False)
class Definition:
    """A function, class or method of a file.

    Attributes:
        qualname: Its qualified name.
        kind: What it is.
        node: The definition in the syntax tree.
        text: Its source, with decorators and comments.
    """

    qualname: str
    kind: Kind
    node: DefinitionNode
    text: str

    @cached_property
    def body(self) -> Counter[str]:
        """How often each line of its body occurs."""
        return Counter(_lines(self.node))

    @property
    def name(self) -> str:
        """The last part of the qualified name."""
        return self.node.name

    @property
    def lines(self) -> int:
        """The number of lines of its source."""
        return len(self.text.splitlines())

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of its parameters, of those of `__init__` for a class, without `self` and `cls`."""
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
        text: Its text.
        definitions: Its functions, classes and methods, also those in branches of its top level.
    """

    tree: ast.Module
    text: str
    definitions: tuple[Definition, ...]


class Package:
    """The modules of a version, and its definitions by place and by content.

    Files that cannot be parsed, and those of tests, are left out.

    Attributes:
        modules: The modules, by path.
        definitions: The definitions, by place.
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
        """The definitions that have a body in common."""
        found = defaultdict(list)
        for item in self.definitions.values():
            found[frozenset(item.body.items())].append(item)
        return found

    @cached_property
    def by_qualname(self) -> Mapping[str, list[Target]]:
        """The places of each qualified name."""
        found = defaultdict(list)
        for place in self.definitions:
            found[place.qualname].append(place)
        return found


def copied(package: Package, other: Package, place: Target) -> bool:
    """Return whether a definition is a copy of any definition of another version, whatever that is called."""
    item = package.definitions[place]
    equal = other.by_body.get(frozenset(item.body.items()), ())
    return any(item.body.total() >= FEWEST_LINES or found.name == item.name for found in equal)


def absent(package: Package, other: Package, places: Iterable[Target]) -> list[Target]:
    """Return the definitions of a package that another version of it has neither at their place nor elsewhere.

    Args:
        package: The version that has them.
        other: The other version.
        places: The places of the definitions to look for.
    """
    left = [place for place in other.definitions if place not in package.definitions]
    by_name = defaultdict(list)
    for place in left:
        by_name[place.qualname.rpartition(".")[2]].append(place)
    classes: dict[Target, Target | None] = {}

    def origin(place: Target) -> Target | None:
        """Return where the other version has a definition."""
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
    # The smaller one bounds what both have in common, and counting that takes long.
    if not total or 2 * min(left.total(), right.total()) < SAME_NAME * total:
        return 0.0
    return 2 * (left & right).total() / total


def _is_test(path: str) -> bool:
    parts = PurePosixPath(path).parts
    return parts[-1].startswith("test_") or any(part in ("test", "tests") for part in parts[:-1])


# Most files are the same in the next version.
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
    """Yield the lines of a body as Python writes them. A class has those of its methods, with their headers."""
    for statement in node.body:
        if isinstance(statement, DefinitionNode):
            yield f"def {statement.name}"
            yield from _lines(statement)
        elif not (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)):
            yield from (line.strip() for line in ast.unparse(statement).splitlines())
