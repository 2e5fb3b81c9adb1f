"""Unpack untrusted archives, with limits on their size.

Only regular files and folders are written. If an archive contains anything else, or a path outside of the folder, it is
rejected and nothing is written.
"""

from __future__ import annotations

import os
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO

from lmrbench.errors import SourceError

MOST_FILES = 50_000
MOST_BYTES = 2 << 30
_CHUNK = 1 << 20

# A member of an archive: its path, whether it is a folder, and a function that opens its content.
_Member = tuple[str, bool, Callable[[], IO[bytes] | None]]


def unpack(archive: Path, folder: Path) -> None:
    """Write the files of a .whl, .zip or .tar.gz into a new folder, read-only.

    If all files are in one folder, as in a source distribution, the name of that folder is dropped from their paths.

    Raises:
        SourceError: The archive is damaged or too large, or contains links, devices, or paths outside of the folder.
    """
    try:
        if archive.name.endswith((".whl", ".zip")):
            with zipfile.ZipFile(archive) as file:
                _write(list(_of_zip(file)), folder, archive.name)
        else:
            with tarfile.open(archive, "r:*") as file:
                _write(list(_of_tar(file)), folder, archive.name)
    except (zipfile.BadZipFile, tarfile.TarError, EOFError, zlib.error, UnicodeDecodeError) as error:
        raise SourceError(f"{archive.name} can't be unpacked: {error}") from error


def _of_zip(file: zipfile.ZipFile) -> Iterator[_Member]:
    for item in file.infolist():
        kind = stat.S_IFMT(item.external_attr >> 16)
        if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
            raise SourceError(f"{item.filename!r} is neither a file nor a folder")
        yield item.filename, item.is_dir(), partial(file.open, item)


def _of_tar(file: tarfile.TarFile) -> Iterator[_Member]:
    for item in file:
        if not item.isreg() and not item.isdir():
            raise SourceError(f"{item.name!r} is neither a file nor a folder")
        yield item.name, item.isdir(), partial(file.extractfile, item)


def _write(members: list[_Member], folder: Path, name: str) -> None:
    files = [(_path(path), content) for path, is_folder, content in members if not is_folder]
    if len(files) > MOST_FILES:
        raise SourceError(f"{name}: more than {MOST_FILES} files")
    roots = {path.parts[0] for path, _ in files}
    strip = len(roots) == 1 and all(len(path.parts) > 1 for path, _ in files)
    room = MOST_BYTES
    for path, content in files:
        place = folder.joinpath(*path.parts[strip:])
        place.parent.mkdir(parents=True, exist_ok=True)
        stream = content()
        if stream is None:
            raise SourceError(f"{name}: {str(path)!r} has no content")
        # With O_EXCL, opening fails if the archive contains the same path twice.
        with stream, os.fdopen(os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o444), "wb") as written:
            while chunk := stream.read(_CHUNK):
                room -= len(chunk)
                if room < 0:
                    raise SourceError(f"{name}: more than {MOST_BYTES >> 30} GB when unpacked")
                written.write(chunk)


def _path(text: str) -> PurePosixPath:
    path = PurePosixPath(text)
    if path.is_absolute() or ".." in path.parts or not path.parts or "\\" in text or "\0" in text:
        raise SourceError(f"{text!r} is not a path inside the archive")
    return path
