"""The folders that a candidate may write to. They are measured while it runs and emptied afterwards."""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

# An empty file occupies no block, but about a kilobyte of kernel memory.
_INODE_BYTES = 1024


class Scratch:
    """The writable folders of a worker. Children start in the folder `start`."""

    def __init__(self, folders: Sequence[Path]) -> None:
        """Remember the folders, the first of which is `start`, and their modes."""
        self.start = folders[0]
        self.folders = folders
        self._modes = [folder.stat().st_mode & 0o7777 for folder in folders]
        self._counted = 0
        self._count_again = 0.0

    def unnamed_file(self) -> int:
        """Open an empty file that no path leads to, and return its descriptor."""
        path = self.start / "unnamed"
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        os.unlink(path)
        return file

    def usage(self) -> int:
        """Return the bytes of the files in the folders, each of which is a file system of its own."""
        usage = [os.statvfs(folder) for folder in self.folders]
        return sum(
            (item.f_blocks - item.f_bfree) * item.f_frsize + (item.f_files - item.f_ffree) * _INODE_BYTES
            for item in usage
        )

    def count(self, most: int) -> int:
        """Return the bytes of all files that have a name in the folders, counted one by one.

        Counting stops when the count exceeds `most`. A folder that can't be listed counts as more than `most`. So that
        counting takes at most half of the time, a call that comes too soon returns the previous count.
        """
        began = time.monotonic()
        if began >= self._count_again:
            self._counted = _bytes_below(self.folders, most)
            self._count_again = 2 * time.monotonic() - began
        return self._counted

    def wipe(self) -> bool:
        """Empty all folders; return whether that worked."""
        self._count_again = 0.0
        try:
            for folder, mode in zip(self.folders, self._modes, strict=True):
                _empty(folder, mode)
        except (OSError, RecursionError):
            return False
        return not any(os.listdir(folder) for folder in self.folders)


def _bytes_below(folders: Sequence[Path], most: int) -> int:
    """Return the bytes of everything below folders, whatever a candidate does there meanwhile; see `Scratch.count`."""
    total, waiting = 0, [str(folder) for folder in folders]
    while waiting and total <= most:
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    with contextlib.suppress(FileNotFoundError):
                        found = entry.stat(follow_symlinks=False)
                        # A file with several names counts once.
                        total += found.st_blocks * 512 // (1 if entry.is_dir(follow_symlinks=False) else found.st_nlink)
                        total += _INODE_BYTES
                        if entry.is_dir(follow_symlinks=False):
                            waiting.append(entry.path)
                    if total > most:
                        break
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError:
            # The folder can't be read, or its path is too long. No honest program makes such folders.
            return most + 1
    return total


def _empty(folder: Path, mode: int) -> None:
    """Remove everything in a folder, whatever a candidate did to it, and reset its mode and its times."""
    if folder.stat().st_mode & 0o7777 != mode:
        folder.chmod(mode)
    for entry in os.scandir(folder):
        if entry.is_dir(follow_symlinks=False):
            shutil.rmtree(entry.path, onerror=_unlock)
        else:
            os.unlink(entry.path)
    # A candidate may have set the times, and the next one could read them.
    os.utime(folder)


def _unlock(function: Any, path: str, error: Any) -> None:
    """Make a path that a candidate has locked writable, and remove it."""
    os.chmod(os.path.dirname(path), 0o700)
    if os.path.islink(path):
        # chmod would follow the link and change the mode of a file elsewhere.
        os.unlink(path)
        return
    os.chmod(path, 0o700)
    if os.path.isdir(path):
        shutil.rmtree(path)
    else:
        os.unlink(path)
