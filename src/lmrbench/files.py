"""Read and write files safely: atomic writes, locks, no symbolic links, and a private cache folder.

A run folder may come from an untrusted source, so symbolic links in it are not followed. The cache folder contains the
seed with which this machine grades answers, the key that signs grades, and the results of reference code, so other
users must not read or write it.
An `OSError` other than `FileNotFoundError` becomes a `RecordError` that names the file.
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
    """Return the folder `lmrbench` in the user's cache folder (see XDG_CACHE_HOME), and create it if necessary.

    The folder has mode 0700.

    Raises:
        RecordError: The folder belongs to another user, or other users can write to it.
    """
    folder = platformdirs.user_cache_path("lmrbench")
    with _one_line(folder):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = folder.stat()
        if status.st_uid != os.geteuid():
            raise RecordError(f"{folder} belongs to another user; set XDG_CACHE_HOME to a folder of your own")
        if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise RecordError(f"{folder}: other users can write to it, so its content cannot be trusted; delete it")
        if status.st_mode & 0o077:
            folder.chmod(0o700)
    return folder


def read_plain(path: Path) -> bytes:
    """Read a regular file without following symbolic links.

    Raises:
        FileNotFoundError: The file does not exist.
        RecordError: The path is a link or not a regular file, or it cannot be read.
    """
    with reading_plain(path) as file:
        return file.read()


@contextmanager
def reading_plain(path: Path) -> Iterator[BinaryIO]:
    """Open a regular file for reading without following symbolic links.

    Raises:
        FileNotFoundError: The file does not exist.
        RecordError: The path is a link or not a regular file, or it cannot be read.
    """
    with _one_line(path), os.fdopen(_open_plain(path, os.O_RDONLY), "rb") as file:
        yield file


def append_whole(path: Path, line: bytes) -> None:
    """Append one line and flush it to disk, after removing an incomplete last line.

    Args:
        path: The file, which is created if it does not exist.
        line: The line with its newline.

    Raises:
        RecordError: The file is a link or not a regular file, or it cannot be written.
    """
    with _one_line(path):
        fd = _open_plain(path, os.O_RDWR | os.O_CREAT | os.O_APPEND)
        try:
            os.ftruncate(fd, _whole_length(fd))
            # If the disk is nearly full, a write may accept only some of the bytes; the next write reports the error.
            while line:
                line = line[os.write(fd, line) :]
            os.fsync(fd)
        finally:
            os.close(fd)


def write_whole(path: Path, data: bytes, mode: int = 0o644) -> None:
    """Write a file atomically: a reader finds either the old content or the new.

    If the path is a symbolic link, the link itself is replaced.

    Raises:
        RecordError: The file cannot be written.
    """
    with _one_line(path):
        temporary = _temporary(path, data)
        try:
            os.chmod(temporary, mode)
            os.replace(temporary, path)
        except BaseException:
            os.unlink(temporary)
            raise


def made_once(path: Path, draw: Callable[[], bytes]) -> bytes:
    """Return the content of a private file. If the file does not exist, create it with the result of `draw`.

    If several processes create the file at the same time, all return the same content.

    Raises:
        RecordError: The file is a link or not a regular file, or it cannot be read or written.
    """
    try:
        return read_plain(path)
    except FileNotFoundError:
        pass
    with _one_line(path):
        temporary = _temporary(path, draw())
        try:
            # Unlike a rename, a hard link fails if another process created the file first.
            os.link(temporary, path)
        except FileExistsError:
            pass
        finally:
            os.unlink(temporary)
    return read_plain(path)


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Lock a run folder for this process; the lock is released when the context or the process ends.

    Raises:
        RecordError: Another process holds the lock (the message names the process), or the file system does not
            support locks.
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
                f"{folder / '.lock'} can't be locked ({error.strerror}); use a folder on a local disk, "
                "because some network file systems do not support locks"
            ) from error
        with _one_line(folder / ".lock"):
            os.ftruncate(fd, 0)
            os.pwrite(fd, f"process {os.getpid()} on {os.uname().nodename}".encode(), 0)
        yield
    finally:
        os.close(fd)


def _holder(fd: int) -> str:
    """Return a note in brackets on the process that a lock file names, or "" if the file names none."""
    held = os.pread(fd, 200, 0).decode("utf-8", "replace")
    return f" ({held})" if re.fullmatch(r"process \d+ on [\w.-]+", held) else ""


def _open_plain(path: Path, flags: int) -> int:
    try:
        # Opening a FIFO without O_NONBLOCK would wait for a writer.
        fd = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o644)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise RecordError(f"{path} is a symbolic link; links are not followed") from error
        raise
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise RecordError(f"{path} is not a regular file")
    return fd


def _temporary(path: Path, data: bytes) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    fd, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    with os.fdopen(fd, "wb") as file:
        file.write(data)
    return temporary


def _whole_length(fd: int) -> int:
    """Return the length of a file up to the end of its last complete line."""
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
