"""Compare two versions of a package from a package index. They are downloaded to the cache; their code never runs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from lmrbench.authoring.listing.additions import Addition, additions, dated
from lmrbench.authoring.listing.definitions import Package, absent
from lmrbench.errors import TaskError, UsageError
from lmrbench.progress import Advance
from lmrbench.records import Record
from lmrbench.tasks.model import Release, Target
from lmrbench.tasks.sources.fetch import fetch
from lmrbench.tasks.sources.origin import Tree
from lmrbench.tasks.sources.pin import pinned_release
from lmrbench.tasks.sources.releases import IndexedVersion, release_of, releases, version_in

_PACKAGE = re.compile(r"(?P<name>[\w.-]+)(==(?P<version>[\w.+!-]+))?")


class Additions(Record):
    """The definitions that are new in a version of a package.

    Attributes:
        package: The package and the version, as NAME==VERSION.
        date: The release date of the version, as YYYY-MM-DD; empty if the index does not state it.
        since: The number of the earlier version.
        new: The new definitions.
    """

    package: str
    date: str
    since: str
    new: tuple[Addition, ...]


@dataclass(frozen=True)
class NewDefinition:
    """A definition that is new in a version of a package.

    Attributes:
        package: The package and the version, as NAME==VERSION.
        text: The source code of the definition in this version.
        release: The first release that contains the definition, or None if the index does not state its date.
    """

    package: str
    text: str
    release: Release | None


def new_since(source: str, since: str, advance: Advance) -> Additions:
    """List the definitions that are new in a version of a package, compared with an earlier version.

    Args:
        source: The package, as NAME for its newest final version or NAME==VERSION.
        since: The earlier version.
        advance: Called with a stage's name, the amount done, and the total if it is known.

    Raises:
        UsageError: The package or a version is malformed, or `since` is not an earlier version.
        SourceError: A version does not exist or can't be downloaded.
    """
    name, before, between = _compared(source, since)
    current = between[-1]
    files = _files(name, current, advance)
    package = Package(files)
    found = additions(files, package, Package(_files(name, before, advance)))
    opened = ((str(item.version), item.date, content) for item, content in _opened(name, between, package, advance))
    new = tuple(dated(found, package, opened))
    return Additions(package=f"{name}=={current.version}", date=current.date, since=str(before.version), new=new)


def find_new(source: str, since: str, target: Target, advance: Advance) -> NewDefinition:
    """Return a definition that is new in a version of a package, compared with an earlier version.

    Args:
        source: The package, as NAME for its newest final version or NAME==VERSION.
        since: The earlier version.
        target: The file and qualified name of the definition.
        advance: Called with a stage's name, the amount done, and the total if it is known.

    Raises:
        UsageError: The package or a version is malformed, or `since` is not an earlier version.
        SourceError: A version does not exist or can't be downloaded.
        TaskError: The version does not have the definition, or the earlier version has it too.
    """
    name, before, between = _compared(source, since)
    wanted = f"{name}=={between[-1].version}"
    package, earlier = (Package(_files(name, item, advance)) for item in (between[-1], before))
    if target not in package.definitions:
        raise TaskError(f"{target}: {wanted} has no such definition; leave out TARGET to list the new definitions")
    if not absent(package, earlier, [target]):
        raise TaskError(
            f"{target} is not new: {name}=={before.version} has it, too; leave out TARGET to list the new definitions"
        )
    versions = _opened(name, between, package, advance)
    first = next(item for item, content in versions if not absent(package, content, [target]))
    release = Release(package=name, version=str(first.version), date=first.date) if first.date else None
    return NewDefinition(wanted, package.definitions[target].text, release)


def _compared(source: str, since: str) -> tuple[str, IndexedVersion, list[IndexedVersion]]:
    """Return the package's name, the earlier release, and the final releases after it, ending with the wanted one."""
    match = _PACKAGE.fullmatch(source)
    if match is None:
        raise UsageError(f"--source {source}: --since compares versions of a package; expected NAME or NAME==VERSION")
    name = match["name"]
    wanted = version_in(f"--source {source}", match["version"]) if match["version"] else None
    earlier = version_in(f"--since {since}", since)
    known = releases(name)
    newest = [item for item in known if not item.version.is_prerelease] or known
    current = release_of(known, name, wanted) if wanted else newest[-1]
    before = release_of(known, name, earlier)
    if before.version >= current.version:
        raise UsageError(f"--since {since} is not earlier than {name}=={current.version}; choose an earlier version")
    between = [item for item in newest if before.version < item.version < current.version]
    return name, before, [*between, current]


def _opened(
    name: str, between: Sequence[IndexedVersion], newest: Package, advance: Advance
) -> Iterator[tuple[IndexedVersion, Package]]:
    """Yield versions of a package with their definitions, earliest first.

    Args:
        name: The name of the package.
        between: The versions to open.
        newest: The definitions of the last of these versions, which have been read already.
        advance: Called with a stage's name, the amount done, and the total.
    """
    for number, item in enumerate(between):
        advance(f"versions of {name}", number, len(between))
        yield item, newest if item is between[-1] else Package(_files(name, item, advance))


def _files(name: str, release: IndexedVersion, advance: Advance) -> Tree:
    source = pinned_release(f"{name}=={release.version}", release)
    fetch(source, lambda done, total: advance(str(source), done, total))
    return Tree(Path(name), source, {})
