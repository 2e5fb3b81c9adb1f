"""Repositories that are not part of the suite: their origin, and their files in the cache.

`[source]` of a task.toml pins a package on an index, a commit of a Git repository, or an archive. `lmrbench setup
fetch` stores this code in the user's cache, and its files are read from there. Nothing is written to the suite's
folder.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Annotated, Self

from pydantic import BeforeValidator, Field, HttpUrl, StringConstraints, model_validator

from lmrbench.errors import TaskError
from lmrbench.files import cache_folder
from lmrbench.records import Record
from lmrbench.source.functions import mask
from lmrbench.tasks.foreign import is_litter
from lmrbench.tasks.model import Target

Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
FileName = Annotated[str, StringConstraints(pattern=r"^[\w][\w.+!-]*\.(whl|tar\.gz|zip)$")]


def _target(value: object) -> object:
    return Target.parse(value) if isinstance(value, str) else value


class Source(Record):
    """A `[source]` of task.toml: the origin of the code, its licence, and the selection of the files that are used.

    Attributes:
        package: A version of a package on the user's index, as NAME==VERSION.
        file: The name of the package's file, a wheel or a source distribution.
        git: The address of a Git repository.
        commit: A commit of this repository, with all 40 digits.
        archive: The address of a .tar.gz or .zip.
        sha256: The digest of the package's file or of the archive.
        licence: The licence of the code.
        keep: Globs over paths. A file is used if it matches one of these globs and none of those in `drop`.
        drop: Globs over the paths of files that are not used.
        also_mask: Further functions that contain a task's answer. They are masked whenever the source is read.
        imports: The top-level imports that the tasks need. Other packages that the code imports need not be installed.
    """

    package: Annotated[str, StringConstraints(pattern=r"^[\w.-]+==[\w.+!-]+$")] | None = None
    file: FileName | None = None
    git: HttpUrl | None = None
    commit: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{40}$")] | None = None
    archive: HttpUrl | None = None
    sha256: Sha256 | None = None
    licence: str = Field(min_length=1)
    keep: tuple[str, ...] = ("*",)
    drop: tuple[str, ...] = ()
    also_mask: tuple[Annotated[Target, BeforeValidator(_target)], ...] = ()
    imports: tuple[str, ...]

    @model_validator(mode="after")
    def _is_one(self) -> Self:
        given = {name for name in ("package", "file", "git", "commit", "archive", "sha256") if getattr(self, name)}
        if given not in ({"package", "file", "sha256"}, {"git", "commit"}, {"archive", "sha256"}):
            raise ValueError("expected package, file and sha256; or git and commit; or archive and sha256")
        return self

    def __str__(self) -> str:
        if self.package:
            return self.package
        return f"{self.git} at {self.commit[:12]}" if self.commit else str(self.archive)

    @property
    def key(self) -> str:
        """The name of the source's folder in the cache: the SHA-256 of the file, or else the id of the commit."""
        return self.sha256 or self.commit or ""


def tree_folder(source: Source) -> Path:
    """Return the folder of a source's files in the cache."""
    return cache_folder() / "sources" / source.key


def is_fetched(source: Source) -> bool:
    """Return whether a source was fetched completely. Fetching gives the folder its final name only at the end."""
    return tree_folder(source).is_dir()


class Kept(bytes):
    """The content of a file of a source, with its path on disk, so that a sandbox can bind-mount the file."""

    place: Path

    @classmethod
    def read(cls, place: Path) -> Self:
        """Read a file."""
        kept = cls(place.read_bytes())
        kept.place = place
        return kept

    def __reduce__(self) -> tuple[Callable[[Path], Kept], tuple[Path]]:
        """Pickle only the path. Unpickling reads the file, and fails on a machine that has not fetched the source."""
        return _kept_at, (self.place,)


@cache
def _kept_at(place: Path) -> Kept:
    return Kept.read(place)


class Tree(Mapping[str, bytes]):
    """The files of a source that are used, by path. They are read on access.

    Files in the paper folder's `overlay/` replace those of the source. If the source is not in the cache, access raises
    a TaskError that names the command to fetch it.

    Attributes:
        folder: The paper folder.
        source: The pinned source.
        overlay: The content of each overlay file, by path.
    """

    def __init__(self, folder: Path, source: Source, overlay: Mapping[str, bytes]) -> None:
        self.folder = folder
        self.source = source
        self.overlay = overlay
        self._places: dict[str, Path] | None = None
        self._read: dict[str, bytes] = {}

    @property
    def places(self) -> Mapping[str, Path]:
        """The path on disk of each used file of the source, by its path in the source."""
        if self._places is None:
            if not is_fetched(self.source):
                paper, suite = self.folder.name, self.folder.parent
                raise TaskError(f"{paper}: {self.source} is missing; run lmrbench setup fetch --suite {suite} {paper}")
            self._places = dict(sorted(_listed(tree_folder(self.source), self.source)))
        return self._places

    def __getitem__(self, path: str) -> bytes:
        if path in self.overlay:
            return self.overlay[path]
        if path not in self._read:
            self._read[path] = self._masked(path, Kept.read(self.places[path]))
        return self._read[path]

    def _masked(self, path: str, data: bytes) -> bytes:
        names = [target.qualname for target in self.source.also_mask if target.file == path]
        try:
            return mask(data, names) if names else data
        except TaskError as error:
            raise TaskError(f"{self.folder.name}: source.also_mask: {path}: {error}") from error

    def __iter__(self) -> Iterator[str]:
        return iter(sorted({*self.places, *self.overlay}))

    def __len__(self) -> int:
        return len({*self.places, *self.overlay})

    def __contains__(self, path: object) -> bool:
        return path in self.overlay or path in self.places

    @property
    def digest(self) -> str:
        """The SHA-256 of the pinned source, the selection of its files, and the overlay."""
        masked = [str(target) for target in self.source.also_mask]
        pinned = [self.source.key, self.source.keep, self.source.drop, *([masked] if masked else [])]
        digest = hashlib.sha256(json.dumps(pinned).encode())
        for path, data in sorted(self.overlay.items()):
            digest.update(f"{path}\0{len(data)}\0".encode())
            digest.update(data)
        return digest.hexdigest()


def _listed(folder: Path, source: Source) -> Iterator[tuple[str, Path]]:
    for parent, _, names in os.walk(folder):
        for name in names:
            place = Path(parent, name)
            path = place.relative_to(folder).as_posix()
            if not place.is_file() or is_litter(PurePosixPath(path)):
                continue
            if _matches(path, source.keep) and not _matches(path, source.drop):
                yield path, place


def _matches(path: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(path, pattern) for pattern in patterns)
