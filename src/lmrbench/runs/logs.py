"""Inspect's logs of a run folder, read as what a stranger may have written.

No link is followed, and nothing is unpacked before its size and its number of values are known to be bounded. Inspect
is handed one sample at a time.
"""

from __future__ import annotations

import importlib
import io
import json
import re
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lmrbench.errors import RecordError, SubmissionError
from lmrbench.runs.folder import LOGS
from lmrbench.tasks.foreign import entries, read_foreign
from lmrbench.text import printable

if TYPE_CHECKING:
    from inspect_ai.log import EvalSample

# Of a log: its own size, how many files it packs, and their size unpacked.
MOST_PACKED, MOST_FILES, MOST_UNPACKED = 512 << 20, 20_000, 4 << 30
# Of one file that it packs: its size, and about how many values it holds, each of which takes far more in memory.
MOST_OF_A_FILE, MOST_VALUES = 64 << 20, 4_000_000
# Packed bytes that are unpacked at once: some make many thousands.
_PIECE = 4096
_HEADER, _STARTED, _SUMMARIES = "header.json", "_journal/start.json", "summaries.json"
# What zipfile, json, Inspect and its records raise for what is damaged.
_DAMAGED = (
    *(zipfile.BadZipFile, zlib.error, EOFError, RuntimeError),
    *(ValueError, LookupError, TypeError, AttributeError, MemoryError),
)
# Inspect begins the names of its logs with the time; other files of JSON lie beside them.
_LOG = re.compile(r"\.eval$|(^|/)\d{4}-\d{2}-\d{2}T[^/]*\.json$")
_SAMPLES, _SUMMARY_PARTS = "samples/", "_journal/summaries/"


def log_files(folder: Path) -> list[str]:
    """The logs of a run folder, as paths below it, oldest first.

    Raises RecordError, which names it, for what is no regular file.
    """
    if (folder / LOGS).is_symlink():
        raise RecordError(f"{folder / LOGS}: is a link, which is not followed")
    found = []
    for name, problem in entries(folder / LOGS) if (folder / LOGS).is_dir() else ():
        if problem:
            raise RecordError(f"{folder / LOGS / name}: {problem}")
        if _LOG.search(name):
            found.append(f"{LOGS}/{name}")
    return sorted(found, key=lambda name: name.rpartition("/")[2])


def logged_samples(folder: Path, name: str) -> Iterator[EvalSample]:
    """The samples of a log of a run folder, one after the other.

    Raises RecordError, in one line, for a log that is damaged or too large.
    """
    from inspect_ai.log import read_eval_log

    with _one_line(folder / name):
        if name.endswith(".json"):
            yield from read_eval_log(io.BytesIO(_bounded(_read(folder, name))), format="json").samples or []
            return
        with _opened(folder, name) as archive:
            names = archive.namelist()
            head = _HEADER if _HEADER in names else _STARTED
            for sample in sorted({item for item in names if item.startswith(_SAMPLES) and item.endswith(".json")}):
                yield from read_eval_log(_packed(archive, (head, sample)), format="eval").samples or []


def answered_in(folder: Path, task: str, sample: int) -> str | None:
    """The path of the latest log of a run folder in which a task's sample ended without an error; None without one."""
    importlib.import_module("inspect_ai.log")  # It teaches zipfile the compression of its logs.
    for name in reversed(log_files(folder)):
        if name.endswith(".eval"):
            with _one_line(folder / name), _opened(folder, name) as archive:
                for found in _summaries(archive):
                    same = (str(found.get("id")), found.get("epoch")) == (task, sample + 1)
                    if same and not found.get("error"):
                        return name
    return None


def _summaries(archive: zipfile.ZipFile) -> Iterator[dict[str, Any]]:
    names = archive.namelist()
    parts = [_SUMMARIES] if _SUMMARIES in names else [name for name in names if name.startswith(_SUMMARY_PARTS)]
    for part in dict.fromkeys(parts):
        yield from json.loads(_bounded(_unpacked(archive, part)))


def _packed(archive: zipfile.ZipFile, names: tuple[str, ...]) -> io.BytesIO:
    """A log of some of the files of another."""
    copy = io.BytesIO()
    with zipfile.ZipFile(copy, "w") as written:
        for name in names:
            written.writestr(name, _bounded(_unpacked(archive, name)))
    copy.seek(0)
    return copy


def _unpacked(archive: zipfile.ZipFile, name: str) -> bytes:
    """The content of a file that a log packs, and of a longer one than is read no more than shows that it is one."""
    pieces: list[bytes] = []
    left = MOST_OF_A_FILE + 1
    with archive.open(name) as file:
        while left > 0 and (piece := file.read(min(left, _PIECE))):
            pieces.append(piece)
            left -= len(piece)
    return b"".join(pieces)


@contextmanager
def _opened(folder: Path, name: str) -> Iterator[zipfile.ZipFile]:
    with zipfile.ZipFile(io.BytesIO(_read(folder, name))) as archive:
        files = archive.infolist()
        if len(files) > MOST_FILES:
            raise RecordError(f"{folder / name}: holds {len(files)} files, more than {MOST_FILES}")
        if any(item.file_size > MOST_OF_A_FILE for item in files):
            raise RecordError(f"{folder / name}: holds a file of more than {MOST_OF_A_FILE >> 20} MiB")
        if sum(item.file_size for item in files) > MOST_UNPACKED:
            raise RecordError(f"{folder / name}: unpacks to more than {MOST_UNPACKED >> 20} MiB")
        yield archive


def _read(folder: Path, name: str) -> bytes:
    try:
        return read_foreign(folder, name, MOST_PACKED) or b""
    except SubmissionError as error:
        raise RecordError(f"{folder}: {error}") from error


def _bounded(data: bytes) -> bytes:
    """The text of a JSON file, if it is not too much to be read. Raises ValueError."""
    values = sum(map(data.count, (b",", b":", b"[", b"{")))
    if len(data) > MOST_OF_A_FILE or values > MOST_VALUES:
        raise ValueError(f"holds {len(data)} bytes and about {values} values, too much to be read")
    return data


@contextmanager
def _one_line(file: Path) -> Iterator[None]:
    try:
        yield
    except _DAMAGED as error:
        said = next(iter(str(error).splitlines()), "") or type(error).__name__
        raise RecordError(f"{file}: is no log that can be read: {printable(said[:200])}") from error
