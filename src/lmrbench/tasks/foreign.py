"""Read untrusted folders, such as the workspace of a solver.

Symbolic links are not followed in any component of a path: each component is opened relative to its parent. Only
regular files are read, and only up to a limit. So an untrusted folder cannot make the reader access files outside of
the folder, block, or run forever.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from lmrbench.errors import SubmissionError
from lmrbench.text import printable

MAX_ENTRIES = 20_000
MAX_DEPTH = 40

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
# With O_NONBLOCK, opening a FIFO does not wait for a writer.
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


_NO_FOLDERS = frozenset(
    {"__pycache__", ".git", ".hg", ".svn", ".ipynb_checkpoints", ".mypy_cache", ".pytest_cache", ".ruff_cache"}
    | {".hypothesis", ".tox", ".nox", ".venv", ".idea", ".vscode"}
)
_NO_SUFFIXES = (".pyc", ".pyo")
_NO_FILES = frozenset({".DS_Store", ".git", ".coverage"})


def is_litter(path: PurePosixPath) -> bool:
    """Return whether a path is a by-product of tools, such as bytecode, a cache or version history."""
    return any(part in _NO_FOLDERS for part in path.parts) or path.name in _NO_FILES or path.suffix in _NO_SUFFIXES


def read_foreign(folder: Path, path: str, most: int) -> bytes | None:
    """Read a file in an untrusted folder.

    Args:
        folder: The untrusted folder.
        path: The path of the file, relative to the folder.
        most: The maximum size in bytes.

    Returns:
        The content, or None if there is no such file.

    Raises:
        SubmissionError: The path leads through a link, or the file is not a regular one, is too large or cannot be
            read.
    """
    *above, name = PurePosixPath(path).parts
    try:
        with _opened(folder, above) as within:
            file = os.open(name, _FILE, dir_fd=within)
        with open(file, "rb") as stream:
            if not stat.S_ISREG(os.fstat(file).st_mode):
                raise SubmissionError(f"{printable(path)}: not a regular file")
            data = stream.read(most + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR):
            raise SubmissionError(f"{printable(path)}: no such file; links are not followed") from error
        raise SubmissionError(f"{printable(path)}: not readable: {error.strerror}") from error
    if len(data) > most:
        raise SubmissionError(f"{printable(path)}: larger than {most} bytes")
    return data


def entries(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield everything in an untrusted folder, at any depth, except folders and litter (see `is_litter`).

    Args:
        folder: The untrusted folder.

    Yields:
        The path of an entry, and a description if it is not a regular file ("" if it is). A folder deeper than
        `MAX_DEPTH` is described instead of entered. If there are more than `MAX_ENTRIES` entries, the last item has an
        empty path, and its description says so.
    """
    left = MAX_ENTRIES
    pending = [""]
    while pending:
        found = []
        for path, kind in _listed(folder, pending.pop()):
            if not left:
                yield "", f"more than {MAX_ENTRIES} files; the rest was not read"
                return
            left -= 1
            found.append((path, kind))
        inner = []
        for path, kind in sorted(found):
            if kind != "folder":
                yield path, kind
            elif path.count("/") + 1 < MAX_DEPTH:
                inner.append(path)
            else:
                yield path, "nested too deeply; not read"
        pending += reversed(inner)


def _listed(folder: Path, path: str) -> Iterator[tuple[str, str]]:
    try:
        with _opened(folder, PurePosixPath(path).parts) as within, os.scandir(within) as listing:
            for entry in listing:
                name = f"{path}/{entry.name}" if path else entry.name
                if is_litter(PurePosixPath(entry.name)):
                    continue
                if entry.is_symlink():
                    yield name, "a link; not followed"
                elif entry.is_dir(follow_symlinks=False):
                    yield name, "folder"
                else:
                    yield name, "" if entry.is_file(follow_symlinks=False) else "neither a file nor a folder; left out"
    except OSError as error:
        yield path, f"not readable: {error.strerror}"


@contextmanager
def _opened(folder: Path, parts: Sequence[str]) -> Iterator[int]:
    """Yield the file descriptor of a folder inside another one. A link in the path raises OSError."""
    within = os.open(folder, _FOLDER)
    try:
        for part in parts:
            inner = os.open(part, _FOLDER | os.O_NOFOLLOW, dir_fd=within)
            os.close(within)
            within = inner
        yield within
    finally:
        os.close(within)
