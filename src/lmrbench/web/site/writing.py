"""A site's folder: written whole beside its place and moved there, so that whoever stops it leaves the old one.

A list of its own files lies in it. What holds anything else is not replaced, for it is not ours to delete.
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
    """Raise UsageError where a site can't be written to a folder without losing what is there."""
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder}: is no folder")
    if not folder.is_dir():
        return
    there = {item.name for item in folder.iterdir()}
    if not there:
        return
    try:
        ours = {str(name) for name in json.loads((folder / MARKER).read_text("utf-8"))["files"]}
    except (OSError, ValueError, KeyError, TypeError):
        raise UsageError(f"{folder}: is not empty, and no site of lmrbench; name another folder with --to") from None
    if others := sorted(there - ours - {MARKER}):
        raise UsageError(f"{folder}: {others[0]} is no file of the site, and would be lost; move it elsewhere")


def write_site(folder: Path, files: Mapping[str, bytes]) -> None:
    """Put these files, by name, in the place of a folder. Raises UsageError where that would lose others."""
    require_place(folder)
    # Behind a link is what is to be replaced.
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
