"""Files that can be trusted: whole writes, locks, files that are no links, and the cache of this user alone.

A run folder may come from somebody else, so nothing in it is followed that is a link. The cache holds the seed, the key
and the observations of goldens, so nobody else may read or write there. What the operating system refuses is a
`RecordError` that names the file.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import platformdirs

from lmrbench.errors import RecordError

PRIVATE = 0o600


def cache_folder() -> Path:
    """`lmrbench` in the user's cache folder (XDG_CACHE_HOME moves it), closed to everybody else.

    Raises RecordError where it belongs to another user, or others could write to it.
    """
    folder = platformdirs.user_cache_path("lmrbench")
    with _one_line(folder):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = folder.stat()
        if status.st_uid != os.geteuid():
            raise RecordError(f"{folder}: belongs to another user; set XDG_CACHE_HOME to a folder of your own")
        if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise RecordError(f"{folder}: others can write to it, so nothing in it can be trusted; delete it")
        if status.st_mode & 0o077:
            folder.chmod(0o700)
    return folder


def read_plain(path: Path) -> bytes:
    """The content of a regular file that is no link. Raises FileNotFoundError if there is none, else RecordError."""
    with reading_plain(path) as file:
        return file.read()


@contextmanager
def reading_plain(path: Path) -> Iterator[BinaryIO]:
    """Open a regular file that is no link. Raises FileNotFoundError if there is none, else RecordError."""
    with _one_line(path), os.fdopen(_open_plain(path, os.O_RDONLY), "rb") as file:
        yield file


def append_whole(path: Path, line: bytes) -> None:
    """Append one line, whole, and flush it to the disk; a last line that was cut short is cut off before."""
    with _one_line(path):
        fd = _open_plain(path, os.O_RDWR | os.O_CREAT | os.O_APPEND)
        try:
            os.ftruncate(fd, _whole_length(fd))
            # A disk that becomes full takes the first bytes, and says so only when it is asked to take the others.
            while line:
                line = line[os.write(fd, line) :]
            os.fsync(fd)
        finally:
            os.close(fd)


def write_whole(path: Path, data: bytes, mode: int = 0o644) -> None:
    """Write a file so that whoever reads it, at any moment, finds the old content or the new; a link is replaced."""
    with _one_line(path):
        temporary = _temporary(path, data)
        try:
            os.chmod(temporary, mode)
            os.replace(temporary, path)
        except BaseException:
            os.unlink(temporary)
            raise


def made_once(path: Path, draw: Callable[[], bytes]) -> bytes:
    """The content of a private file; where it is not there yet, what `draw` returns."""
    try:
        return read_plain(path)
    except FileNotFoundError:
        pass
    with _one_line(path):
        temporary = _temporary(path, draw())
        try:
            # Unlike a rename, a link fails where another process was faster.
            os.link(temporary, path)
        except FileExistsError:
            pass
        finally:
            os.unlink(temporary)
    return read_plain(path)


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold a run folder for this process alone; a kill lets go of it.

    Raises RecordError, which names the process, if another one holds it.
    """
    with _one_line(folder):
        folder.mkdir(parents=True, exist_ok=True)
        fd = _open_plain(folder / ".lock", os.O_RDWR | os.O_CREAT)
    try:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise RecordError(f"{folder}: another lmrbench{_holder(fd)} is writing to this run folder") from error
        except OSError as error:
            raise RecordError(
                f"{folder / '.lock'}: can't be locked ({error.strerror}), as on some network file systems; "
                "name a folder on a disk of this machine"
            ) from error
        with _one_line(folder / ".lock"):
            os.ftruncate(fd, 0)
            os.pwrite(fd, f"process {os.getpid()} on {os.uname().nodename}".encode(), 0)
        yield
    finally:
        os.close(fd)


def _holder(fd: int) -> str:
    """Who wrote itself down in a lock's file; nothing where that is not what it holds."""
    held = os.pread(fd, 200, 0).decode("utf-8", "replace")
    return f" ({held})" if re.fullmatch(r"process \d+ on [\w.-]+", held) else ""


def _open_plain(path: Path, flags: int) -> int:
    try:
        # A pipe without a writer must not hold up whoever opens it.
        fd = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o644)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise RecordError(f"{path}: is a link, which is not followed") from error
        raise
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise RecordError(f"{path}: is no regular file")
    return fd


def _temporary(path: Path, data: bytes) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    fd, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    with os.fdopen(fd, "wb") as file:
        file.write(data)
    return temporary


def _whole_length(fd: int) -> int:
    """The length of a file up to the end of its last whole line."""
    end = os.fstat(fd).st_size
    while end > 0:
        start = max(0, end - 65536)
        position = os.pread(fd, end - start, start).rfind(b"\n")
        if position >= 0:
            return start + position + 1
        end = start
    return 0


@contextmanager
def _one_line(path: Path) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        raise
    except OSError as error:
        raise RecordError(f"{path}: {error.strerror}") from error
