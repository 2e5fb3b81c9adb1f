"""The folders that a candidate may write to: measured while it runs, emptied after it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
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

    def unnamed_file(self) -> int:
        """Open an empty file that no path leads to, and return its descriptor."""
        path = self.start / "unnamed"
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        os.unlink(path)
        return file

    def held(self) -> int:
        """Return the bytes that the folders hold, or 0 if they are not file systems of their own."""
        if not self._own_file_systems:
            return 0
        usage = [os.statvfs(folder) for folder, _ in self._folders]
        return sum(
            (item.f_blocks - item.f_bfree) * item.f_frsize + (item.f_files - item.f_ffree) * _INODE_BYTES
            for item in usage
        )

    def wipe(self) -> bool:
        """Empty all folders; return whether that worked."""
        try:
            for folder, mode in self._folders:
                _empty(folder, mode)
        except (OSError, RecursionError):
            return False
        return not any(os.listdir(folder) for folder, _ in self._folders)


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
