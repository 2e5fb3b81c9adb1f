"""Write the folder of a site atomically, and replace nothing but an earlier site.

The files are written to a temporary folder that is then moved into place, so an interruption leaves the old site. The
folder contains a list of its files, and a folder with files that are not in the list is not replaced.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from lmrbench.errors import UsageError

MARKER = ".lmrbench-site"


def require_place(folder: Path) -> None:
    """Raise UsageError if writing a site to a folder would lose other files."""
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder}: not a folder; name another one with --to")
    if not folder.is_dir():
        return
    there = {item.name for item in folder.iterdir()}
    if not there:
        return
    try:
        ours = {str(name) for name in json.loads((folder / MARKER).read_text("utf-8"))["files"]}
    except (OSError, ValueError, KeyError, TypeError):
        raise UsageError(f"{folder}: not empty and not a site of lmrbench; name another folder with --to") from None
    if others := sorted(there - ours - {MARKER}):
        raise UsageError(f"{folder}: {others[0]} is not a file of the site and would be lost; move it elsewhere")


def write_site(folder: Path, files: Mapping[str, bytes]) -> None:
    """Replace the content of a folder with the files of a site.

    Args:
        folder: The folder; it need not exist.
        files: The contents of the files by name.

    Raises:
        UsageError: See `require_place`.
    """
    require_place(folder)
    # If the folder is a symbolic link, the link is kept and its target is replaced.
    place = folder.resolve()
    place.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=place.parent, prefix=f".{place.name}-") as beside:
        fresh, old = Path(beside) / "fresh", Path(beside) / "old"
        fresh.mkdir()
        for name, data in files.items():
            (fresh / name).write_bytes(data)
        listed = {"format": "a site of lmrbench", "files": sorted(files)}
        (fresh / MARKER).write_text(json.dumps(listed, indent=1) + "\n", "utf-8")
        if place.exists():
            os.rename(place, old)
        try:
            os.rename(fresh, place)
        except BaseException:
            if old.exists():
                os.rename(old, place)
            raise
