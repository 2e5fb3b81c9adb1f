"""Files in a folder that somebody else wrote: what is there, and what do they hold?

Links are not followed, neither at the end of a path nor in the middle of it: each component is opened below the one
before. Only regular files are read, and no further than asked for. So a folder can't make its reader leave it, wait,
or go on without end.
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
# What has become a FIFO is not waited for.
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


_NO_FOLDERS = frozenset(
    {"__pycache__", ".git", ".hg", ".svn", ".ipynb_checkpoints", ".mypy_cache", ".pytest_cache", ".ruff_cache"}
    | {".hypothesis", ".tox", ".nox", ".venv", ".idea", ".vscode"}
)
_NO_SUFFIXES = (".pyc", ".pyo")
_NO_FILES = frozenset({".DS_Store", ".git", ".coverage"})


def is_litter(path: PurePosixPath) -> bool:
    """True for what tools leave behind: bytecode, caches, history."""
    return any(part in _NO_FOLDERS for part in path.parts) or path.name in _NO_FILES or path.suffix in _NO_SUFFIXES


def read_foreign(folder: Path, path: str, most: int) -> bytes | None:
    """The content of a file below a folder, at most this many bytes; None where there is nothing of that name.

    Raises SubmissionError for a link, for what is no regular file, for one that is longer and one that can't be read.
    """
    *above, name = PurePosixPath(path).parts
    try:
        with _opened(folder, above) as within:
            file = os.open(name, _FILE, dir_fd=within)
        with open(file, "rb") as stream:
            if not stat.S_ISREG(os.fstat(file).st_mode):
                raise SubmissionError(f"{printable(path)}: is no regular file")
            data = stream.read(most + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR):
            raise SubmissionError(f"{printable(path)}: there is no such file; links are not followed") from error
        raise SubmissionError(f"{printable(path)}: can't be read: {error.strerror}") from error
    if len(data) > most:
        raise SubmissionError(f"{printable(path)}: is larger than {most} bytes")
    return data


def entries(folder: Path) -> Iterator[tuple[str, str]]:
    """Everything below a folder but folders and litter: path, and what it is if no regular file, else "".

    Where there is more than `MAX_ENTRIES`, the last entry says so, with an empty path. A folder deeper than `MAX_DEPTH`
    is described and not entered.
    """
    left = MAX_ENTRIES
    pending = [""]
    while pending:
        found = []
        for path, kind in _listed(folder, pending.pop()):
            if not left:
                yield "", f"more than {MAX_ENTRIES} files; the rest was not looked at"
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
                yield path, "nested too deeply; not looked at"
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
        yield path, f"can't be read: {error.strerror}"


@contextmanager
def _opened(folder: Path, parts: Sequence[str]) -> Iterator[int]:
    """A descriptor of a folder below another one; a link on the way to it is an OSError."""
    within = os.open(folder, _FOLDER)
    try:
        for part in parts:
            inner = os.open(part, _FOLDER | os.O_NOFOLLOW, dir_fd=within)
            os.close(within)
            within = inner
        yield within
    finally:
        os.close(within)
