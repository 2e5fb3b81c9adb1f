"""List the versions of a package on the indexes in pip's configuration, with their dates."""

from __future__ import annotations

from bisect import bisect
from dataclasses import dataclass

from packaging.utils import (
    InvalidSdistFilename,
    InvalidWheelFilename,
    canonicalize_name,
    parse_sdist_filename,
    parse_wheel_filename,
)
from packaging.version import InvalidVersion, Version

from lmrbench.errors import SourceError, UsageError
from lmrbench.tasks.sources.indexes import IndexedFile, indexed_files

# The maximum number of versions that a message names.
MOST_NAMED = 12


@dataclass(frozen=True)
class IndexedVersion:
    """A version of a package, with one of its files.

    Attributes:
        version: The version number.
        file: The platform-independent wheel, or else the source distribution.
    """

    version: Version
    file: IndexedFile

    @property
    def date(self) -> str:
        """The date on which the file was uploaded, as YYYY-MM-DD; empty if the index does not state it."""
        return self.file.uploaded.date().isoformat() if self.file.uploaded else ""


def releases(name: str) -> list[IndexedVersion]:
    """Return the versions of a package that are not yanked and have a platform-independent file, oldest first.

    Raises:
        SourceError: No index has such a file, or an index can't be reached.
    """
    best: dict[Version, IndexedFile] = {}
    for item in indexed_files(name):
        version = _version(item.name, name) if item.yanked is None else None
        if version is not None and (
            version not in best or item.name.endswith(".whl") > best[version].name.endswith(".whl")
        ):
            best[version] = item
    if not best:
        raise SourceError(
            f"{name}: no index in pip's configuration has a platform-independent wheel or a source distribution"
        )
    return [IndexedVersion(version, best[version]) for version in sorted(best)]


def release_of(known: list[IndexedVersion], name: str, version: Version) -> IndexedVersion:
    """Return the release that has a given version.

    Args:
        known: The package's releases, oldest first.
        name: The name of the package.
        version: The wanted version.

    Raises:
        SourceError: The package has no such version. The message names the closest versions.
    """
    numbers = [item.version for item in known]
    if version in numbers:
        return known[numbers.index(version)]
    start = max(0, min(bisect(numbers, version) - MOST_NAMED // 2, len(numbers) - MOST_NAMED))
    near = ", ".join(map(str, numbers[start : start + MOST_NAMED]))
    rest = len(numbers) - MOST_NAMED
    more = f" and {rest} more" if rest > 0 else ""
    raise SourceError(
        f"{name}=={version}: no index in pip's configuration has a platform-independent wheel or a source "
        f"distribution of this version; available versions: {near}{more}"
    )


def version_in(place: str, text: str) -> Version:
    """Parse a version. Raises UsageError if it is malformed; the message begins with `place`, for example an option."""
    try:
        return Version(text)
    except InvalidVersion as error:
        raise UsageError(f"{place}: {error}") from error


def _version(file: str, name: str) -> Version | None:
    """Return the version of a package's file, or None if it is platform-specific or belongs to another package."""
    try:
        if file.endswith(".whl"):
            project, version, _, tags = parse_wheel_filename(file)
            if not any(tag.platform == "any" for tag in tags):
                return None
        else:
            project, version = parse_sdist_filename(file)
    except (InvalidSdistFilename, InvalidWheelFilename):
        return None
    # A folder of wheels may also contain files of other packages.
    return version if project == canonicalize_name(name) else None
