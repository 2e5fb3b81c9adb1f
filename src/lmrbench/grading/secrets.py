"""Which folders of this machine hold answers? No agent is shown them, whatever else it is shown."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from lmrbench.storage import cache_folder


def secret_folders(suite: Path) -> tuple[Path, ...]:
    """The suite, the checkout that it lies in, with its history and its runs, and the cache of seed and outputs."""
    return (suite.resolve(), *_checkout(suite.resolve()), cache_folder().resolve())


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
