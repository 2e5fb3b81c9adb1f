"""Lay out the repository of a job: files that were sent, over a folder of others that stay where they are.

Where a folder holds none of the files that were sent, it is linked as a whole, so that this takes as long as there are
names beside those files, and not as long as there are files.
"""

from __future__ import annotations

import os
from pathlib import Path, PurePosixPath


def lay_out(repo: Path, files: dict[str, bytes], tree: Path | None) -> None:
    """Write files into a new folder, and link to those of the tree beside them."""
    folders = {parent for name in files for parent in PurePosixPath(name).parents}
    for folder in sorted(folders | {PurePosixPath()}, key=lambda item: len(item.parts)):
        (repo / folder).mkdir(parents=True, exist_ok=True)
        if tree is not None and (tree / folder).is_dir():
            for entry in os.listdir(tree / folder):
                if str(folder / entry) not in files and folder / entry not in folders:
                    (repo / folder / entry).symlink_to(tree / folder / entry)
    for name, data in files.items():
        (repo / name).write_bytes(data)
