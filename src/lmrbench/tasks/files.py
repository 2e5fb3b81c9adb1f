"""What does a file of a task say, as text, as a table and as a record? Whatever is wrong there is a `TaskError`."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from lmrbench.errors import TaskError
from lmrbench.records import Record

Model = TypeVar("Model", bound=Record)


def read_text(file: Path) -> str:
    """The text of a file in UTF-8."""
    try:
        return file.read_text("utf-8")
    except OSError as error:
        raise TaskError(f"{file}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise TaskError(f"{file}: is not UTF-8 text ({error.reason} at byte {error.start})") from error


def read_table(file: Path) -> dict[str, Any]:
    """The table that a TOML file holds."""
    return parsed_table(read_text(file), file)


def parsed_table(text: str, file: Path) -> dict[str, Any]:
    """The table that the text of a TOML file holds."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise TaskError(f"{file}: {error}") from error


def validated(model: type[Model], value: object, file: Path, key: str) -> Model:
    """A part of a table as the record that it stands for. key: where the part stands in the file, "" for all of it."""
    try:
        return model.model_validate(value)
    except ValidationError as error:
        first: Any = error.errors(include_url=False)[0]
        place = ".".join(str(part) for part in (key, *first["loc"]) if part != "")
        message = "unknown key" if first["type"] == "extra_forbidden" else first["msg"]
        raise TaskError(f"{file}: {place}: {message}") from error
