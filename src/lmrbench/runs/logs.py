"""Read the logs of Inspect, the evaluation framework, in a run folder. They may come from an untrusted source.

Symbolic links are not followed. Before a file is parsed, its size and the number of its values are checked. Inspect
parses one sample at a time.
"""

from __future__ import annotations

import importlib
import io
import json
import re
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lmrbench.errors import RecordError, SubmissionError
from lmrbench.runs.folder import LOGS
from lmrbench.tasks.foreign import entries, read_foreign
from lmrbench.tasks.model import Tier
from lmrbench.text import printable

if TYPE_CHECKING:
    from inspect_ai.log import EvalSample

# A sample may cover several tasks. This key then contains the ids of the tasks in the metadata of the sample, and the
# scores by task in the score of the sample.
TASKS = "tasks"
# The `source` of the log entry that contains the events recorded by an agent's program.
EVENTS = "lmrbench events"
# Limits of one log: its size, the number of its files, and their total size when unpacked.
MOST_PACKED, MOST_FILES, MOST_UNPACKED = 512 << 20, 20_000, 4 << 30
# Limits of one file in a log: its size when unpacked and, to limit memory, its approximate number of JSON values.
MOST_OF_A_FILE, MOST_VALUES = 64 << 20, 4_000_000
# The number of bytes to decompress at a time. It is small, because compressed data may expand a thousandfold.
_PIECE = 4096
_HEADER, _STARTED, _SUMMARIES = "header.json", "_journal/start.json", "summaries.json"
# The exceptions that zipfile, json and Inspect raise on damaged data.
_DAMAGED = (
    *(zipfile.BadZipFile, zlib.error, EOFError, RuntimeError),
    *(ValueError, LookupError, TypeError, AttributeError, MemoryError),
)
# The names of Inspect's logs begin with a timestamp. Other JSON files in the folder are not logs.
_LOG = re.compile(r"\.eval$|(^|/)\d{4}-\d{2}-\d{2}T[^/]*\.json$")
_SAMPLES, _SUMMARY_PARTS = "samples/", "_journal/summaries/"


def log_files(folder: Path) -> list[str]:
    """List the logs of a run folder.

    Args:
        folder: The run folder.

    Returns:
        The paths of the logs relative to the folder, oldest first.

    Raises:
        RecordError: The folder of logs is a symbolic link, or contains something that is not a regular file.
    """
    if (folder / LOGS).is_symlink():
        raise RecordError(f"{folder / LOGS} is a symbolic link; replace it with the folder itself")
    found = []
    for name, problem in entries(folder / LOGS) if (folder / LOGS).is_dir() else ():
        if problem:
            raise RecordError(f"{folder / LOGS / name}: {problem}")
        if _LOG.search(name):
            found.append(f"{LOGS}/{name}")
    return sorted(found, key=lambda name: name.rpartition("/")[2])


def logged_samples(folder: Path, name: str) -> Iterator[EvalSample]:
    """Read the samples of one log, one at a time.

    Args:
        folder: The run folder.
        name: The path of the log relative to the folder.

    Yields:
        Each sample of the log.

    Raises:
        RecordError: The log is damaged or too large. The message has one line.
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


def tasks_of(sample: object, metadata: Mapping[str, Any]) -> list[str]:
    """Return the ids of a sample's tasks: those in the metadata of a session of several tasks, or else its own id.

    Args:
        sample: The id of the sample.
        metadata: The metadata of the sample.
    """
    return metadata.get(TASKS) or [str(sample)]


def session_id(paper: str, tier: Tier) -> str:
    """Return the sample id of a session in which several tasks of a paper are solved."""
    return f"{paper}/{tier}"


def answered_in(folder: Path, task: str, sample: int) -> str | None:
    """Return the path of the latest log in which a sample ended without an error.

    Args:
        folder: The run folder.
        task: The id of the task.
        sample: The number of the sample, from 0.

    Returns:
        The path relative to the folder, or None if there is no such log.

    Raises:
        RecordError: A log is damaged or too large.
    """
    importlib.import_module("inspect_ai.log")  # Registers the compression of Inspect's logs.
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
    """Return a log with only the named files of another log."""
    copy = io.BytesIO()
    with zipfile.ZipFile(copy, "w") as written:
        for name in names:
            written.writestr(name, _bounded(_unpacked(archive, name)))
    copy.seek(0)
    return copy


def _unpacked(archive: zipfile.ZipFile, name: str) -> bytes:
    """Read one file of a log up to one byte beyond the size limit, so that the caller can detect a larger file."""
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
            raise RecordError(f"{folder / name} contains {len(files)} files, more than {MOST_FILES}")
        if any(item.file_size > MOST_OF_A_FILE for item in files):
            raise RecordError(f"{folder / name} contains a file of more than {MOST_OF_A_FILE >> 20} MiB")
        if sum(item.file_size for item in files) > MOST_UNPACKED:
            raise RecordError(f"{folder / name} unpacks to more than {MOST_UNPACKED >> 20} MiB")
        yield archive


def _read(folder: Path, name: str) -> bytes:
    try:
        return read_foreign(folder, name, MOST_PACKED) or b""
    except SubmissionError as error:
        raise RecordError(f"{folder}: {error}") from error


def _bounded(data: bytes) -> bytes:
    """Return the data of a JSON file, or raise ValueError if it is too large to parse."""
    values = sum(map(data.count, (b",", b":", b"[", b"{")))
    if len(data) > MOST_OF_A_FILE or values > MOST_VALUES:
        raise ValueError(f"a file of {len(data)} bytes and about {values} values is too large to read")
    return data


@contextmanager
def _one_line(file: Path) -> Iterator[None]:
    """Turn any error about damaged data into a RecordError whose message has one line."""
    try:
        yield
    except _DAMAGED as error:
        message = next(iter(str(error).splitlines()), "") or type(error).__name__
        raise RecordError(f"{file}: not a readable log: {printable(message[:200])}") from error
