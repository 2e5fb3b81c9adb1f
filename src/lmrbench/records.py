"""Base classes of records, and migration of records that were written by earlier versions.

A record is an immutable pydantic model. A `StoredRecord` carries the number of the schema with which it was written.
`read_record` migrates records of earlier schemas with the `migrations` of their class. In a record of a later schema,
unknown keys are kept and written back. In a record of the current schema, an unknown key is an error.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any, ClassVar, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic_core import from_json

from lmrbench.errors import RecordError

# The number of the current schema, which all stored records share. If a change to a record affects how existing
# files must be read, increase the number, and add the step from the previous one to the `migrations` of that record.
# Records without a number have schema 0.
SCHEMA = 4
# Converts the values of a record from one schema to the next.
Migration = Callable[[dict[str, Any]], dict[str, Any]]


class Record(BaseModel):
    """Base class of all records, which are immutable and reject unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Part(Record):
    """A record nested in a stored record. Unknown keys are kept, because a later schema may have added them."""

    model_config = ConfigDict(extra="allow")


class StoredRecord(Record):
    """A record that is written to files and may be read by later versions.

    Attributes:
        migrations: The migrations from earlier schemas, by the number of the schema that each one starts from.
        schema_version: The number of the schema with which the record was written.
    """

    model_config = ConfigDict(extra="allow")
    migrations: ClassVar[Mapping[int, Migration]] = {}

    schema_version: int = Field(default=SCHEMA, ge=0)

    @model_validator(mode="after")
    def _known_keys(self) -> StoredRecord:
        if self.schema_version <= SCHEMA and self.model_extra:
            raise ValueError(f"{min(self.model_extra)}: unknown key")
        return self


AnyRecord = TypeVar("AnyRecord", bound=Record)
Stored = TypeVar("Stored", bound=StoredRecord)


def read_record(data: bytes, model: type[Stored], place: str) -> Stored:
    """Parse a JSON object as a record, migrating it from earlier schemas.

    Args:
        data: The JSON text.
        model: The type of the record.
        place: The location of the text, for messages: a file, or a file and a line.

    Raises:
        RecordError: The text is not a record of this type. The message names the place and the key.
    """
    values = parsed_json(data, place)
    if not isinstance(values, dict):
        raise RecordError(f"{place}: not a JSON object")
    return validated(_migrated(values, model), model, place)


def parsed_json(data: bytes, place: str) -> Any:
    """Parse a JSON text. Lone surrogates in strings are replaced with question marks.

    Args:
        data: The JSON text.
        place: The location of the text, for messages.

    Raises:
        RecordError: The text is not JSON.
    """
    try:
        return from_json(data)
    except ValueError as error:
        # pydantic's parser rejects lone surrogates, but Python's json module reads and writes them. A text that may
        # contain some is parsed again below.
        if b"\\ud" not in data.lower():
            raise RecordError(f"{place}: not valid JSON: {error}") from error
    try:
        return from_json(json.dumps(json.loads(data), ensure_ascii=False).encode("utf-8", "replace"))
    except (ValueError, RecursionError) as error:
        raise RecordError(f"{place}: not valid JSON: {error}") from error


def validated(values: dict[str, Any], model: type[AnyRecord], place: str) -> AnyRecord:
    """Convert a parsed JSON object to a record.

    Args:
        values: The JSON object.
        model: The type of the record.
        place: The location of the object, for messages.

    Raises:
        RecordError: The object is not a record of this type. The message names the place and the key.
    """
    try:
        return model.model_validate(values)
    except ValidationError as error:
        raise RecordError(f"{place}: {first_problem(error)}") from error


def first_problem(error: ValidationError, key: str = "") -> str:
    """Return the first problem of a failed validation as one line, such as `limits.seconds: missing`.

    Args:
        error: The error that pydantic raised.
        key: The key of the validated value, if it is part of a larger object; "" otherwise.
    """
    first = error.errors(include_url=False)[0]
    place = ".".join(str(part) for part in (key, *first["loc"]) if part != "")
    known = {"extra_forbidden": "unknown key", "missing": "missing"}
    message = known.get(first["type"]) or first["msg"].removeprefix("Value error, ")
    return f"{place}: {message}" if place else message


def _migrated(values: dict[str, Any], model: type[StoredRecord]) -> dict[str, Any]:
    written = values.get("schema_version", 0)
    if not isinstance(written, int) or written >= SCHEMA:
        return values
    for number in range(written, SCHEMA):
        if change := model.migrations.get(number):
            values = change(values)
    return values | {"schema_version": SCHEMA}


Item = TypeVar("Item")
Key = TypeVar("Key", bound=Hashable)


def grouped(items: Iterable[Item], key: Callable[[Item], Key]) -> dict[Key, list[Item]]:
    """Group items by key. The groups, and the items of each group, keep the order in which they first occur."""
    groups: dict[Key, list[Item]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups
