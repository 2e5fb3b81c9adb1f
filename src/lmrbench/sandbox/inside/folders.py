"""Emptying a folder that a candidate could write to, whatever it has done there."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any


def empty(folder: Path, mode: int) -> None:
    """Remove all that is in a folder, and give it this mode and the present time.

    Raises OSError or RecursionError where something can't be removed.
    """
    if folder.stat().st_mode & 0o7777 != mode:
        folder.chmod(mode)
    for entry in os.scandir(folder):
        if entry.is_dir(follow_symlinks=False):
            shutil.rmtree(entry.path, onerror=_unlock)
        else:
            os.unlink(entry.path)
    # Times that a candidate has set would stay.
    os.utime(folder)


def _unlock(function: Any, path: str, error: Any) -> None:
    """Make what a candidate has locked writable, and try again."""
    os.chmod(os.path.dirname(path), 0o700)
    os.chmod(path, 0o700)
    if os.path.isdir(path):
        shutil.rmtree(path)
    else:
        os.unlink(path)
