"""Fetch the published code that tasks use: verify it, unpack it once into the cache, and make it read-only.

Packages come from the indexes in pip's configuration. No fetched code is run.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import tempfile
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO

from lmrbench.errors import SourceError
from lmrbench.files import cache_folder, locked
from lmrbench.progress import Finished, Stages
from lmrbench.tasks.model import Task
from lmrbench.tasks.sources.indexes import SECONDS, indexed_files
from lmrbench.tasks.sources.origin import Source, Tree, is_fetched, tree_folder
from lmrbench.tasks.sources.unpack import unpack
from lmrbench.text import counted

MOST_BYTES = 1 << 30
_CHUNK = 1 << 18

# Called with the number of bytes received and the total number, which is None if the server does not state it.
Progress = Callable[[int, int | None], None]


def fetch(source: Source, progress: Progress = lambda done, total: None) -> None:
    """Fetch a source into the cache, unless it is already there. Interrupted downloads are resumed.

    Args:
        source: The package, commit or archive.
        progress: Called whenever bytes have arrived, with the arguments that `Progress` describes.

    Raises:
        SourceError: The source is not available, or its digest differs from the pinned one.
        RecordError: Another process is fetching the source.
    """
    if is_fetched(source):
        return
    with _one_line(str(source)), locked(cache_folder() / "sources" / f".{source.key}"):
        archive = _committed(source) if source.commit else _downloaded(source, progress)
        folder = Path(tempfile.mkdtemp(dir=archive.parent, prefix="tree-"))
        try:
            unpack(archive, folder)
            _read_only(folder)
            folder.rename(tree_folder(source))
        except BaseException:
            _writable(folder)
            shutil.rmtree(folder, ignore_errors=True)
            raise
    shutil.rmtree(archive.parent, ignore_errors=True)


def fetch_sources(tasks: Iterable[Task], stages: Stages) -> Iterator[Finished]:
    """Fetch each source that tasks use, and yield the outcome of each.

    Args:
        tasks: The tasks whose sources are fetched.
        stages: Shows the progress of a download.
    """
    trees = {tree.source.key: tree for task in tasks if isinstance(tree := task.files.repository, Tree)}
    if not trees:
        yield Finished("the code of all these tasks comes with the suite")
    for tree in trees.values():
        name, source = tree.folder.name, tree.source
        if is_fetched(source):
            yield Finished(f"{name}: {source} is in the cache")
            continue
        try:
            with stages("", 1) as (_, advance):
                fetch(source, partial(advance, str(source)))
            yield Finished(f"{name}: {source}, {counted(len(tree.places), 'file')}")
        except SourceError as error:
            yield Finished(f"{name}: {error}", failed=True)


def digest_at(address: str) -> str:
    """Return the SHA-256 of the file at an address. Raises SourceError if it is not available."""
    with _one_line(address), tempfile.TemporaryDirectory(prefix="lmrbench-") as folder:
        file = Path(folder, "file")
        _load(address, file, lambda done, total: None)
        return hashlib.sha256(file.read_bytes()).hexdigest()


def _downloaded(source: Source, progress: Progress) -> Path:
    """Download the file of a package or an archive, and verify its digest."""
    address = str(source.archive) if source.archive else _address(source)
    name = source.file or urllib.parse.urlsplit(address).path.rpartition("/")[2]
    file = cache_folder() / "sources" / f".{source.key}" / name
    part = file.with_name(f"{name}.part")
    if not file.exists():
        _load(address, part, progress)
        found = hashlib.sha256(part.read_bytes()).hexdigest()
        if found != source.sha256:
            part.unlink()
            raise SourceError(f"{source}: {name} is not the file that was pinned: its SHA-256 is {found}")
        part.rename(file)
    return file


def _load(address: str, part: Path, progress: Progress) -> None:
    """Download a file to `part`. If an earlier download was interrupted, continue after the bytes in `part`."""
    done = part.stat().st_size if part.exists() else 0
    request = urllib.request.Request(address, headers={"Range": f"bytes={done}-"} if done else {})
    try:
        with urllib.request.urlopen(request, timeout=SECONDS) as answer:
            if answer.status not in (None, 206):
                done = 0
            length = answer.headers.get("Content-Length")
            total = done + int(length) if length else None
            with part.open("ab" if done else "wb") as written:
                _copy(answer, written, done, total, progress)
    except urllib.error.HTTPError as error:
        # Status 416: the requested range is empty, because the earlier download is already complete.
        if error.code != 416 or not done:
            raise SourceError(f"{address}: {error.code} {error.reason}") from error


def _copy(answer: IO[bytes], written: IO[bytes], done: int, total: int | None, progress: Progress) -> None:
    while chunk := answer.read(_CHUNK):
        done += len(chunk)
        if done > MOST_BYTES:
            raise SourceError(f"the file is larger than {MOST_BYTES >> 30} GB")
        written.write(chunk)
        progress(done, total)
    if total is not None and done < total:
        raise SourceError(
            f"the connection ended after {done:,} of {total:,} bytes; run the same command again to resume"
        )


def _address(source: Source) -> str:
    """Return the address of a package's file on the user's indexes."""
    assert source.package is not None
    for item in indexed_files(source.package.partition("==")[0]):
        if item.name != source.file:
            continue
        if item.yanked is not None:
            raise SourceError(f"{source} was yanked from the index: {item.yanked or 'no reason given'}")
        return item.address
    raise SourceError(f"{source}: no index in pip's configuration has the file {source.file}")


def _committed(source: Source) -> Path:
    """Fetch a commit as an archive. Git verifies the content, because the id of a commit is a digest of its content."""
    folder = cache_folder() / "sources" / f".{source.key}"
    archive, clone = folder / "commit.tar.gz", folder / "clone"
    _git("init", "--quiet", "--bare", str(clone))
    _git("-C", str(clone), "fetch", "--quiet", "--depth", "1", str(source.git), str(source.commit))
    _git("-C", str(clone), "archive", "--format=tar.gz", f"--output={archive}", str(source.commit))
    return archive


def _git(*arguments: str) -> None:
    environment = {**os.environ, "GIT_TERMINAL_PROMPT": "0", "GIT_CONFIG_NOSYSTEM": "1"}
    try:
        done = subprocess.run(["git", *arguments], capture_output=True, text=True, env=environment, check=False)
    except FileNotFoundError as error:
        raise SourceError("git is not installed; install it") from error
    if done.returncode:
        raise SourceError((done.stderr.strip().splitlines() or ["git failed"])[-1])


def _read_only(folder: Path) -> None:
    for path in (folder, *folder.rglob("*")):
        if path.is_dir():
            path.chmod(0o555)


def _writable(folder: Path) -> None:
    for path in (folder, *folder.rglob("*")):
        if path.is_dir():
            path.chmod(0o755)


@contextmanager
def _one_line(name: str) -> Iterator[None]:
    """Raise any failure as a SourceError whose message has one line and begins with `name`."""
    try:
        yield
    except SourceError as error:
        said = str(error)
        raise SourceError(said if said.startswith(name) else f"{name}: {said}") from error
    except (OSError, json.JSONDecodeError) as error:
        reason = getattr(error, "reason", None) or getattr(error, "strerror", None) or error
        raise SourceError(f"{name}: {reason}") from error
