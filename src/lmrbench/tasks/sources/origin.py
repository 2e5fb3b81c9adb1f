"""Whose code is a repository that does not come with the suite, and where is it on this machine?

`[source]` of a task.toml pins a package of an index, a commit of a Git repository or an archive. `lmrbench setup fetch`
brings it into the user's cache; from then on its files are read from there. Nothing of it enters the suite's folder.
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
    """`[source]`: where code comes from, its licence, and which of its files count.

    package and file: a version on the user's index, and which of its files. git and commit: a repository. archive: the
    address of a .tar.gz or .zip. sha256: of the file. keep, drop: globs over paths; a file stays that some pattern of
    `keep` matches and none of `drop`. also_mask: functions that hold what a task asks for once more, as targets are
    named; they have no bodies, for nobody. imports: the top-level imports that the files need for what is done with
    them; code that nobody wrote for the purpose names others too, which it can do without.
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
        """What names its content: the digest of the file, or the commit."""
        return self.sha256 or self.commit or ""


def tree_folder(source: Source) -> Path:
    """Where the files of a source lie once they are fetched."""
    return cache_folder() / "sources" / source.key


def is_fetched(source: Source) -> bool:
    """Whether a source is here, whole: its folder gets its name when all of it is written."""
    return tree_folder(source).is_dir()


class Kept(bytes):
    """The content of a file of a source, and where it lies, so that who needs the file can be shown that place."""

    place: Path

    @classmethod
    def read(cls, place: Path) -> Self:
        """Read a file."""
        kept = cls(place.read_bytes())
        kept.place = place
        return kept

    def __reduce__(self) -> tuple[Callable[[Path], Kept], tuple[Path]]:
        """Pickled as its place: whoever unpickles it has the same sources, or is told that the file is missing."""
        return _kept_at, (self.place,)


@cache
def _kept_at(place: Path) -> Kept:
    return Kept.read(place)


class Tree(Mapping[str, bytes]):
    """The files of a source that count, by path, with those of an overlay laid over them. Read when they are asked for.

    folder: of the paper, in its suite. Raises TaskError, which says how to fetch it, where the source is not here.
    """

    def __init__(self, folder: Path, source: Source, overlay: Mapping[str, bytes]) -> None:
        self.folder = folder
        self.source = source
        self.overlay = overlay
        self._places: dict[str, Path] | None = None
        self._read: dict[str, bytes] = {}

    @property
    def places(self) -> Mapping[str, Path]:
        """The files of the source, by path, and where each lies."""
        if self._places is None:
            if not is_fetched(self.source):
                paper, suite = self.folder.name, self.folder.parent
                raise TaskError(f"{paper}: {self.source} is not here: lmrbench setup fetch --suite {suite} {paper}")
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
        """SHA-256 over what the source is, which of its files count, and the overlay."""
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
