"""Read the files of tasks and papers: text, TOML tables, records and PDFs. Every failure raises `TaskError`."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from lmrbench.errors import SubmissionError, TaskError
from lmrbench.records import Record, first_problem
from lmrbench.tasks.foreign import read_foreign
from lmrbench.text import printable

MAX_TEXT_BYTES = 16 << 20

Model = TypeVar("Model", bound=Record)


def read_text(file: Path, suite: Path) -> str:
    """Read a UTF-8 file of a suite.

    A suite may come from an untrusted source, so symbolic links are not followed and only regular files are read.

    Args:
        file: The file, inside the suite.
        suite: The folder of the suite.

    Raises:
        TaskError: The file does not exist, is not a regular file, or is not UTF-8.
    """
    text = read_text_if_there(file, suite)
    if text is None:
        raise TaskError(f"{file}: there is no such file")
    return text


def read_text_if_there(file: Path, suite: Path) -> str | None:
    """Read a file as `read_text` does, or return None if it does not exist."""
    name = file.relative_to(suite).as_posix()
    try:
        data = read_foreign(suite, name, MAX_TEXT_BYTES)
    except SubmissionError as error:
        raise TaskError(f"{file}: {str(error).removeprefix(f'{printable(name)}: ')}") from error
    try:
        return None if data is None else data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise TaskError(f"{file} is not UTF-8 text ({error.reason} at byte {error.start})") from error


def read_table(file: Path, suite: Path) -> dict[str, Any]:
    """Read a TOML file of a suite.

    Raises:
        TaskError: The file cannot be read (see `read_text`), or is not TOML.
    """
    return parsed_table(read_text(file, suite), file)


def parsed_table(text: str, file: Path) -> dict[str, Any]:
    """Parse the text of a TOML file. `file` is only used in error messages.

    Raises:
        TaskError: The text is not TOML.
    """
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise TaskError(f"{file}: {error}") from error
    except RecursionError as error:
        raise TaskError(f"{file} is nested too deeply") from error


def validated(model: type[Model], value: object, file: Path, key: str) -> Model:
    """Convert a value of a TOML file to a record.

    Args:
        model: The type of the record.
        value: The result of `parsed_table`, or a part of it.
        file: The file, for messages.
        key: The key of the value in the file; "" for the whole file.

    Raises:
        TaskError: The value is not a record of this type. The message names the file and the key.
    """
    try:
        return model.model_validate(value)
    except ValidationError as error:
        raise TaskError(f"{file}: {first_problem(error, key)}") from error


def pdf_pages(file: Path) -> Iterator[str]:
    """Yield the text of each page of a PDF.

    Raises:
        TaskError: The file cannot be read.
    """
    import pypdfium2

    try:
        with pypdfium2.PdfDocument(file) as document:
            for page in document:
                yield readable(page.get_textpage().get_text_range())
    except (OSError, RuntimeError) as error:
        raise TaskError(f"{file}: {error}") from error


def readable(text: str) -> str:
    """Normalize newlines in text that pdfium extracted, and join words that are hyphenated at a line end."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "")
    # pdfium writes U+FFFE in place of a hyphen at the end of a line.
    return re.sub("\ufffe\n?", "", lines)
