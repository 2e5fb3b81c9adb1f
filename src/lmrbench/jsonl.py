"""Read and append files of JSON lines that stay valid if the process is killed.

A line is appended whole, in one write. If the last line has no newline, the process died while it wrote that line: the
line is ignored when the file is read, and removed before the next line is appended. Any other line that cannot be read
raises a `RecordError` that names the file and the line.
"""

from __future__ import annotations

import codecs
import itertools
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from lmrbench.errors import RecordError
from lmrbench.files import append_whole, reading_plain
from lmrbench.records import Stored, StoredRecord, read_record

# The maximum length of a line in a file that another program wrote. The largest submission is smaller.
MAX_LINE_BYTES = 16 << 20


def read_lines(path: Path, model: type[Stored]) -> list[Stored]:
    """Read the records of a file that lmrbench wrote, except for an incomplete last line.

    Args:
        path: The file. If it does not exist, the list is empty.
        model: The type of the records.

    Raises:
        RecordError: A line is not a record of this type, or the file is a symbolic link.
    """
    return [read_record(line, model, f"{path}:{number}") for number, line in whole_lines(path)]


def whole_lines(path: Path) -> list[tuple[int, bytes]]:
    """Return the number and content of each complete non-empty line of a file, or [] if the file does not exist.

    Raises:
        RecordError: The file is a symbolic link. Run folders may be untrusted, so links are not followed.
    """
    return [(number, line.strip()) for number, _, line in GrowingFile(path).appended()]


def numbered_lines(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the number and content of each non-empty line of a file's data."""
    return ((number, line) for number, line in enumerate(data.split(b"\n"), 1) if line.strip())


class Place(NamedTuple):
    """The position of a line in its file, in bytes."""

    start: int
    length: int


@dataclass
class GrowingFile:
    """A reader for a file of JSON lines that may still grow. It remembers its position between calls.

    Attributes:
        file: the file, which may not exist yet.
        read: the number of bytes that have been read.
        number: the number of lines that have been read.
        identity: the device and inode of the file at the last call, which show whether the file has since been
            replaced.
    """

    file: Path
    read: int = 0
    number: int = 0
    identity: tuple[int, int] = (0, 0)

    def appended(self, forget: Callable[[], None] = lambda: None) -> Iterator[tuple[int, Place, bytes]]:
        """Yield the number, place and content of each complete line since the last call, except empty lines.

        Args:
            forget: a function that is called if reading starts at the beginning of the file or the file does not exist,
                so that the caller can discard the lines of earlier calls.

        Raises:
            RecordError: the path is a link or not a regular file, or it cannot be read.
        """
        try:
            with reading_plain(self.file) as file:
                status = os.fstat(file.fileno())
                identity = (status.st_dev, status.st_ino)
                if identity != self.identity or status.st_size < self.read:
                    self.read, self.number, self.identity = 0, 0, identity
                    forget()
                file.seek(self.read)
                for line in file:
                    if not line.endswith(b"\n"):
                        # The last line is still being written.
                        return
                    place = Place(self.read, len(line))
                    self.read += len(line)
                    self.number += 1
                    if line.strip():
                        yield self.number, place, line
        except FileNotFoundError:
            forget()

    def at(self, place: Place) -> bytes:
        """Return the content of the line at a place."""
        with reading_plain(self.file) as file:
            file.seek(place.start)
            return file.read(place.length).strip()


def read_submitted_lines(path: Path, model: type[Stored]) -> list[Stored]:
    """Read the records of a file written by another program. The last line may lack its newline.

    Args:
        path: The file, which must exist.
        model: The type of the records.

    Raises:
        RecordError: The file cannot be read, or a line is not a record of this type.
    """
    return [read_record(line, model, f"{path}:{number}") for number, line in submitted_lines(path)]


def submitted_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield the number and content of each non-empty line of a file that another program wrote.

    A byte order mark is dropped, and lone surrogates are replaced with question marks.

    Raises:
        RecordError: The file cannot be read, or a line is not UTF-8 or longer than `MAX_LINE_BYTES`.
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
        raise RecordError(f"{path}:{number}: not valid UTF-8") from error
    except OSError as error:
        raise RecordError(f"{path}: {error.strerror}") from error


def append_line(path: Path, record: StoredRecord) -> None:
    """Append a record as one line, in a single write, and flush it to disk."""
    append_whole(path, record.model_dump_json().encode() + b"\n")
