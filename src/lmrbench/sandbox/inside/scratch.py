"""The folders that a candidate may write to: measured while it runs, emptied after it."""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

# An empty file occupies no block, but about a kilobyte of kernel memory.
_INODE_BYTES = 1024


class Scratch:
    """The writable folders of a worker. Children start in the folder `start`."""

    def __init__(self, folders: Sequence[Path], own_file_systems: bool) -> None:
        """Remember the folders and their modes.

        Args:
            folders: The folders, the first of which is `start`.
            own_file_systems: Whether each is a file system of its own, whose usage can be measured.
        """
        self.start = folders[0]
        self._folders = [(folder, folder.stat().st_mode & 0o7777) for folder in folders]
        self._own_file_systems = own_file_systems
        self._last_count = 0
        self._count_again = 0.0

    def unnamed_file(self) -> int:
        """Open an empty file that no path leads to, and return its descriptor."""
        path = self.start / "unnamed"
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        os.unlink(path)
        return file

    def held(self, most: int) -> int:
        """Return the bytes that the folders hold.

        Args:
            most: Where the folders are not file systems of their own, their files are counted until there are more
                bytes than this.
        """
        if not self._own_file_systems:
            return self._counted(most)
        usage = [os.statvfs(folder) for folder, _ in self._folders]
        return sum(
            (item.f_blocks - item.f_bfree) * item.f_frsize + (item.f_files - item.f_ffree) * _INODE_BYTES
            for item in usage
        )

    def _counted(self, most: int) -> int:
        now = time.monotonic()
        if now < self._count_again:
            return self._last_count
        self._last_count = 0
        for entry in _files_below([folder for folder, _ in self._folders]):
            with contextlib.suppress(OSError):
                self._last_count += entry.stat(follow_symlinks=False).st_blocks * 512 + _INODE_BYTES
            if self._last_count > most:
                break
        # Counting takes at most a tenth of the time.
        self._count_again = time.monotonic() + 10 * (time.monotonic() - now)
        return self._last_count

    def wipe(self) -> bool:
        """Empty all folders; return whether that worked."""
        try:
            for folder, mode in self._folders:
                _empty(folder, mode)
        except (OSError, RecursionError):
            return False
        return not any(os.listdir(folder) for folder, _ in self._folders)


def _files_below(folders: Sequence[Path]) -> Iterator[os.DirEntry[str]]:
    """Yield everything below folders, whatever a candidate does to them meanwhile."""
    waiting = [str(folder) for folder in folders]
    while waiting:
        with contextlib.suppress(OSError), os.scandir(waiting.pop()) as entries:
            for entry in entries:
                yield entry
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)


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
    os.chmod(path, 0o700)
    if os.path.isdir(path):
        shutil.rmtree(path)
    else:
        os.unlink(path)
