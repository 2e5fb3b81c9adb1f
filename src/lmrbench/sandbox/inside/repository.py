"""The repository of a job on disk: the files that were sent, and links into a folder that contains the other files.

A subfolder that contains none of the sent files is linked as a whole. So the time that `lay_out` takes depends on the
number of entries next to the sent files, not on the size of the repository.
"""

from __future__ import annotations

import os
from pathlib import Path, PurePosixPath


def lay_out(repo: Path, files: dict[str, bytes], tree: Path | None) -> None:
    """Write files to a new folder, and link to all other files of a tree.

    Args:
        repo: The folder to create.
        files: The contents of the files that the host sent, by path.
        tree: The folder that contains the repository's other files; None if all files were sent.
    """
    folders = {parent for name in files for parent in PurePosixPath(name).parents}
    for folder in sorted(folders | {PurePosixPath()}, key=lambda item: len(item.parts)):
        (repo / folder).mkdir(parents=True, exist_ok=True)
        if tree is not None and (tree / folder).is_dir():
            for entry in os.listdir(tree / folder):
                if str(folder / entry) not in files and folder / entry not in folders:
                    (repo / folder / entry).symlink_to(tree / folder / entry)
    for name, data in files.items():
        (repo / name).write_bytes(data)
