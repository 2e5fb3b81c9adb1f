"""The folders that a candidate (the code to grade) may write to.

They are measured while the candidate runs, and emptied afterwards.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

# An empty file occupies no block on disk, but about a kilobyte of kernel memory.
_INODE_BYTES = 1024


class Scratch:
    """The writable folders of a worker. Children start in the folder `start`."""

    def __init__(self, folders: Sequence[Path]) -> None:
        """Record the folders and their modes. The first folder becomes `start`."""
        self.start = folders[0]
        self.folders = folders
        self._modes = [folder.stat().st_mode & 0o7777 for folder in folders]
        self._counted = 0
        self._count_again = 0.0

    def unnamed_file(self) -> int:
        """Create an empty file without a name, and return its descriptor."""
        path = self.start / "unnamed"
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        os.unlink(path)
        return file

    def usage(self) -> int:
        """Return the bytes that all files in the folders occupy. Each folder must be a file system of its own."""
        usage = [os.statvfs(folder) for folder in self.folders]
        return sum(
            (item.f_blocks - item.f_bfree) * item.f_frsize + (item.f_files - item.f_ffree) * _INODE_BYTES
            for item in usage
        )

    def count(self, most: int) -> int:
        """Return the bytes of all files that have a name in the folders, counted one by one.

        Counting stops when the count exceeds `most`. A folder that can't be listed counts as more than `most`. If the
        previous count was made too recently, it is returned again, so that counting takes at most half of the time.
        """
        began = time.monotonic()
        if began >= self._count_again:
            self._counted = _bytes_below(self.folders, most)
            self._count_again = 2 * time.monotonic() - began
        return self._counted

    def wipe(self) -> bool:
        """Empty all folders; return whether they are empty."""
        self._count_again = 0.0
        try:
            for folder, mode in zip(self.folders, self._modes, strict=True):
                _empty(folder, mode)
        except (OSError, RecursionError):
            return False
        return not any(os.listdir(folder) for folder in self.folders)


def _bytes_below(folders: Sequence[Path], most: int) -> int:
    """Return the bytes of everything in these folders; see `Scratch.count`. A candidate may change them meanwhile."""
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
    """Remove everything in a folder, and reset its mode and times. A candidate may have changed the permissions."""
    if folder.stat().st_mode & 0o7777 != mode:
        folder.chmod(mode)
    for entry in os.scandir(folder):
        if entry.is_dir(follow_symlinks=False):
            shutil.rmtree(entry.path, onerror=_unlock)
        else:
            os.unlink(entry.path)
    # Otherwise a candidate could set the times to leave a message for a later one.
    os.utime(folder)


def _unlock(function: Any, path: str, error: Any) -> None:
    """Remove a path that `shutil.rmtree` could not remove, after making it and its folder writable."""
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
