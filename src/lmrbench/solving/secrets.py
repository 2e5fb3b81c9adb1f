"""Which folders of this machine hold answers? No agent is shown them, whatever else it is shown."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from lmrbench.files import cache_folder
from lmrbench.tasks.loading import suite_folders


def secret_folders(suite: Path) -> tuple[Path, ...]:
    """The suite and those that it is made of, the checkouts that they lie in, and the cache of seed and outputs.

    A checkout has its history and its runs in it.
    """
    folders = [folder.resolve() for folder in suite_folders(suite)]
    return (
        *folders,
        *dict.fromkeys(place for folder in folders for place in _checkout(folder)),
        cache_folder().resolve(),
    )


def _checkout(suite: Path) -> Iterator[Path]:
    root = next((folder for folder in suite.parents if (folder / ".git").exists()), None)
    if root is None:
        return
    yield root
    git = root / ".git"
    if git.is_file():
        # One of several working trees, whose history lies in the first: main/.git/worktrees/NAME.
        own = (root / git.read_text("utf-8").removeprefix("gitdir:").strip()).resolve()
        common = own / "commondir"
        yield (own / common.read_text("utf-8").strip()).resolve() if common.exists() else own
