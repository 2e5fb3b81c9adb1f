"""Files of JSON lines that survive a kill.

A line is appended whole, in one write. A last line without its end is one that was being written when the process died:
it is cut off before the next append. Any other line that can't be read is a `RecordError` that names file and line.
"""

from __future__ import annotations

import codecs
import itertools
from collections.abc import Iterator
from pathlib import Path

from lmrbench.errors import RecordError
from lmrbench.files import append_whole, read_plain
from lmrbench.records import AnyRecord, StoredRecord, read_record

# Of a line that somebody hands in: many times what the largest code can take as JSON.
MAX_LINE_BYTES = 16 << 20


def read_lines(path: Path, model: type[AnyRecord]) -> list[AnyRecord]:
    """All records of a JSON-lines file, without a last line that was cut short; [] if there is no such file."""
    return [read_record(line, model, f"{path}:{number}") for number, line in whole_lines(path)]


def whole_lines(path: Path) -> list[tuple[int, bytes]]:
    """Number and content of the lines of a file that are whole and not empty; [] if there is no such file.

    Raises RecordError for a link: this is for files of run folders, which may come from somebody else.
    """
    try:
        whole, _, _ = read_plain(path).rpartition(b"\n")
    except FileNotFoundError:
        return []
    return [(number, line) for number, line in enumerate(whole.split(b"\n"), 1) if line.strip()]


def read_submitted_lines(path: Path, model: type[AnyRecord]) -> list[AnyRecord]:
    """All records of a file that somebody hands in, which must be there and whole; it may lack the last line's end.

    A line is read no further than `MAX_LINE_BYTES`.
    """
    return [read_record(line, model, f"{path}:{number}") for number, line in submitted_lines(path)]


def submitted_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Number and content of the lines of a file that somebody hands in, as UTF-8; lone surrogates are replaced.

    Raises RecordError, naming the line, for one that is too long or in another encoding.
    """
    try:
        with path.open("rb") as file:
            for number in itertools.count(1):
                line = file.readline(MAX_LINE_BYTES + 1)
                if not line:
                    return
                if number == 1:
                    line = line.removeprefix(codecs.BOM_UTF8)
                if len(line) > MAX_LINE_BYTES:
                    raise RecordError(f"{path}:{number}: longer than {MAX_LINE_BYTES} bytes")
                line = line.decode("utf-8", "surrogatepass").encode("utf-8", "replace")
                if line.strip():
                    yield number, line
    except UnicodeDecodeError as error:
        raise RecordError(f"{path}:{number}: is not UTF-8") from error
    except OSError as error:
        raise RecordError(f"{path}: {error.strerror}") from error


def append_line(path: Path, record: StoredRecord) -> None:
    """Append one record, whole, and flush it to the disk."""
    append_whole(path, record.model_dump_json().encode() + b"\n")
