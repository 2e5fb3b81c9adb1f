"""The folders of this machine that contain answers, and are therefore hidden from agents."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from lmrbench.files import cache_folder
from lmrbench.tasks.loading import suite_folders


def secret_folders(suite: Path) -> tuple[Path, ...]:
    """Return the folders to hide from agents.

    Args:
        suite: the suite's folder.

    Returns:
        The folders of the suite and of the suites that it combines; the git checkouts that contain these folders,
        because their history and run folders may contain answers; and the cache folder, which contains this machine's
        seed and the results of reference code.
    """
    folders = [folder.resolve() for folder in suite_folders(suite)]
    return (
        *folders,
        *dict.fromkeys(place for folder in folders for place in _checkout(folder)),
        cache_folder().resolve(),
    )


def _checkout(suite: Path) -> Iterator[Path]:
    """Yield the git checkout that contains a folder and, if that is a linked worktree, its repository."""
    root = next((folder for folder in suite.parents if (folder / ".git").exists()), None)
    if root is None:
        return
    yield root
    git = root / ".git"
    if git.is_file():
        # In a linked worktree, .git is a file that points to REPOSITORY/.git/worktrees/NAME.
        own = (root / git.read_text("utf-8").removeprefix("gitdir:").strip()).resolve()
        common = own / "commondir"
        yield (own / common.read_text("utf-8").strip()).resolve() if common.exists() else own
