"""What does a file of a task say, as text, as a table and as a record? Whatever is wrong there is a `TaskError`."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from lmrbench.errors import SubmissionError, TaskError
from lmrbench.records import Record
from lmrbench.tasks.foreign import read_foreign
from lmrbench.text import printable

MAX_TEXT_BYTES = 16 << 20

Model = TypeVar("Model", bound=Record)


def read_text(file: Path, suite: Path) -> str:
    """The text of a file in UTF-8 that lies in the folder of a suite.

    A suite may come from a stranger, so no link in it is followed, and nothing but a regular file is read. Raises
    TaskError, which names the file.
    """
    text = read_text_if_there(file, suite)
    if text is None:
        raise TaskError(f"{file}: there is no such file")
    return text


def read_text_if_there(file: Path, suite: Path) -> str | None:
    """The same as `read_text`; None where there is no file of that name."""
    name = file.relative_to(suite).as_posix()
    try:
        data = read_foreign(suite, name, MAX_TEXT_BYTES)
    except SubmissionError as error:
        raise TaskError(f"{file}: {str(error).removeprefix(f'{printable(name)}: ')}") from error
    try:
        return None if data is None else data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise TaskError(f"{file}: is not UTF-8 text ({error.reason} at byte {error.start})") from error


def read_table(file: Path, suite: Path) -> dict[str, Any]:
    """The table that a TOML file holds."""
    return parsed_table(read_text(file, suite), file)


def parsed_table(text: str, file: Path) -> dict[str, Any]:
    """The table that the text of a TOML file holds."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise TaskError(f"{file}: {error}") from error
    except RecursionError as error:
        raise TaskError(f"{file}: is nested too deeply") from error


def validated(model: type[Model], value: object, file: Path, key: str) -> Model:
    """A part of a table as the record that it stands for. key: where the part stands in the file, "" for all of it."""
    try:
        return model.model_validate(value)
    except ValidationError as error:
        first: Any = error.errors(include_url=False)[0]
        place = ".".join(str(part) for part in (key, *first["loc"]) if part != "")
        message = "unknown key" if first["type"] == "extra_forbidden" else first["msg"]
        raise TaskError(f"{file}: {place}: {message}") from error
