"""Find the new definitions in a package version, with nearby citations, callers, and whether each needs a GPU."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import PurePosixPath
from typing import Literal

from lmrbench.authoring.listing.calls import Gpu, Uses
from lmrbench.authoring.listing.citations import papers_in
from lmrbench.authoring.listing.definitions import Kind, Package, absent, copied
from lmrbench.records import Record
from lmrbench.tasks.model import Target

# The places where a paper may be named, most reliable first. A folder or a line of documentation may name a paper about
# something else.
Where = Literal["docstring", "class", "comment", "module", "folder", "documentation", ""]
# If a file, a folder or the documentation of a name mentions more papers than this, none of them is used.
MOST_PAPERS = 2
# Shorter names are too common to be looked up in the documentation.
SHORTEST_NAME = 3
_WORD = re.compile(r"[\w-]+")


class Addition(Record):
    """A new function, class or method.

    Attributes:
        target: Its file and qualified name, in the format that `lmrbench task new` accepts.
        part: The innermost new folder that contains it, or its file if no folder is new.
        kind: Whether it is a function, a class or a method.
        lines: The number of lines of its source.
        parameters: The names of its parameters; for a class, those of `__init__`.
        callers: The definitions of the package that use it.
        papers: The URLs of the papers that are named closest to it.
        named_in: The place where the papers are named; empty if there are none.
        gpu: Whether it needs a GPU, may need one, or does not.
        version: The first version that contains it; empty until `dated` sets it.
        date: The release date of that version; empty if the package index does not state it.
    """

    target: str
    part: str
    kind: Kind
    lines: int
    parameters: tuple[str, ...]
    callers: tuple[str, ...]
    papers: tuple[str, ...]
    named_in: Where
    gpu: Gpu
    version: str = ""
    date: str = ""


def additions(files: Mapping[str, bytes], package: Package, before: Package) -> list[Addition]:
    """Return the new definitions of a version, except copies of old code, overloads, and definitions inside functions.

    Definitions with a paper come before those without. In each of these two groups, definitions in a new folder or file
    come before the others. Within these parts, the order is by paper, and of one paper's definitions, those that need a
    GPU come last.

    Args:
        files: All files of the version, by path, including its documentation.
        package: The definitions of the version.
        before: The definitions of an earlier version, to compare with.
    """
    places = [place for place in absent(package, before, package.definitions) if not copied(package, before, place)]
    uses, papers = Uses(package), _Papers(files, package, before, places)
    found = []
    for place in places:
        item = package.definitions[place]
        named, where = papers.of(place)
        addition = Addition(
            target=str(place),
            part=papers.part(place),
            kind=item.kind,
            lines=item.lines,
            parameters=item.parameters,
            callers=tuple(sorted(map(str, uses.callers.get(place, ())))),
            papers=named,
            named_in=where,
            gpu=uses.gpu[place],
        )
        # The sort is stable, so definitions with equal keys stay in the package's order.
        key = (not named, papers.part(place) not in papers.new, named, uses.gpu[place] == "needs")
        found.append((key, addition))
    return [addition for _, addition in sorted(found, key=lambda pair: pair[0])]


def dated(found: Sequence[Addition], package: Package, releases: Iterable[tuple[str, str, Package]]) -> list[Addition]:
    """Return the additions with `version` and `date` set to those of the first release that contains them.

    Args:
        found: The additions to date.
        package: The definitions of the version in which they were found.
        releases: The number, date and definitions of each release, earliest first, ending with `package`. The iterable
            is read only until all additions have been found.
    """
    missing = [Target.parse(item.target) for item in found]
    first: dict[str, dict[str, str]] = {}
    for version, date, release in releases:
        still = absent(package, release, missing)
        first |= {str(place): {"version": version, "date": date} for place in set(missing) - set(still)}
        missing = still
        if not missing:
            break
    return [item.model_copy(update=first.get(item.target, {})) for item in found]


class _Papers:
    """The papers that a version names near its new definitions."""

    def __init__(self, files: Mapping[str, bytes], package: Package, before: Package, places: Sequence[Target]) -> None:
        self.files = files
        self.package = package
        self.places = frozenset(places)
        new, all_ = (
            Counter(part for place in group for part in _around(place)) for group in (places, package.definitions)
        )
        earlier = {part for file in before.modules for part in (file, *_folders(file))}
        # A folder or file with a new name may contain moved code. It counts as new if at least half of its definitions
        # are new.
        self.new = {part for part, count in new.items() if part not in earlier and 2 * count >= all_[part]}
        self.stems = Counter(PurePosixPath(part).stem for part in all_)

    def of(self, place: Target) -> tuple[tuple[str, ...], Where]:
        """Return the papers that are named closest to a definition, and the place where they are named."""
        item = self.package.definitions[place]
        near: list[tuple[Where, str]] = [("docstring", _docstring(item.node)), ("comment", item.text)]
        owner = Target(file=place.file, qualname=place.qualname.rpartition(".")[0] or place.qualname)
        if owner in self.places and item.kind == "method":
            near.insert(1, ("class", _docstring(self.package.definitions[owner].node)))
        for where, text in near:
            if found := papers_in(text):
                return found, where
        for part in _around(place):
            if part in self.new:
                found = self._named_in(part)
                if 0 < len(found) <= MOST_PAPERS:
                    return found, "module" if part == place.file else "folder"
        names = [item.name, *(PurePosixPath(part).stem for part in _around(place) if part in self.new)]
        for name in names:
            if self.stems[name] <= 1 and 0 < len(found := self._documented(name)) <= MOST_PAPERS:
                return found, "documentation"
        return (), ""

    def part(self, place: Target) -> str:
        """Return the innermost new folder that contains a definition, or its file if no folder is new."""
        return next((part for part in _folders(place.file) if part in self.new), place.file)

    def _named_in(self, part: str) -> tuple[str, ...]:
        texts = (
            item.text for file, item in self.package.modules.items() if file == part or file.startswith(f"{part}/")
        )
        return papers_in("\n".join(texts))

    def _documented(self, name: str) -> tuple[str, ...]:
        word = _plain(name)
        found = [paper for words, paper in self._documentation if word in words] if len(word) >= SHORTEST_NAME else []
        return tuple(dict.fromkeys(found))

    @cached_property
    def _documentation(self) -> list[tuple[frozenset[str], str]]:
        """For each line of documentation that names exactly one paper: the words of the line, and the paper."""
        found = []
        for file in self.files:
            if file.endswith((".md", ".rst", ".dist-info/METADATA", "PKG-INFO")):
                for line in self.files[file].decode("utf-8", "replace").splitlines():
                    if len(papers := papers_in(line)) == 1:
                        found.append((frozenset(map(_plain, _WORD.findall(line))), papers[0]))
        return found


def _around(place: Target) -> Iterator[str]:
    """Yield the file of a definition, and then its folders, innermost first, without the package's top-level folder."""
    yield place.file
    yield from _folders(place.file)


def _folders(file: str) -> Iterator[str]:
    yield from (str(folder) for folder in PurePosixPath(file).parents if len(folder.parts) > 1)


def _plain(word: str) -> str:
    return re.sub(r"[\W_]", "", word).lower()


def _docstring(node: ast.AST) -> str:
    return ast.get_docstring(node, clean=False) or ""  # type: ignore[arg-type]
