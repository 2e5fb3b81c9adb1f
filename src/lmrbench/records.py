"""Base classes of records, and migration of records that earlier versions wrote.

A `StoredRecord` carries the number of the schema under which it was written. `read_record` migrates records of earlier
schemas by the table `MIGRATIONS`. Unknown keys of a later schema are kept and written back. In a record of the current
schema, an unknown key is an error.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic_core import from_json

from lmrbench.errors import RecordError

# The current schema, common to all stored records. Increase it with each change that affects readers of old files, and
# add the step from the previous number to MIGRATIONS. Records without a number have schema 0.
SCHEMA = 4


class Record(BaseModel):
    """Base of all records: frozen, and unknown keys are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Part(Record):
    """A record inside a stored record; unknown keys of a later schema are kept."""

    model_config = ConfigDict(extra="allow")


class StoredRecord(Record):
    """A record that is written to files and may be read by later versions.

    Attributes:
        schema_version: The schema under which it was written.
    """

    model_config = ConfigDict(extra="allow")

    schema_version: int = Field(default=SCHEMA, ge=0)

    @model_validator(mode="after")
    def _known_keys(self) -> StoredRecord:
        if self.schema_version <= SCHEMA and self.model_extra:
            raise ValueError(f"{min(self.model_extra)}: unknown key")
        return self


AnyRecord = TypeVar("AnyRecord", bound=Record)


def read_record(data: bytes, model: type[AnyRecord], place: str) -> AnyRecord:
    """Parse a JSON object as a record, migrating it from earlier schemas.

    Args:
        data: The JSON text.
        model: The type of the record.
        place: Where the text is, for messages: a file, or a file and a line.

    Raises:
        RecordError: The text is not such a record. The message names place and key.
    """
    values = parsed_json(data, place)
    if not isinstance(values, dict):
        raise RecordError(f"{place}: is not a JSON object")
    return validated(values, model, place)


def parsed_json(data: bytes, place: str) -> Any:
    """Parse a JSON text. Lone surrogates are replaced.

    Args:
        data: The JSON text.
        place: Where the text is, for messages.

    Raises:
        RecordError: The text is not JSON.
    """
    try:
        return from_json(data)
    except ValueError as error:
        # Python's json module reads and writes lone surrogates, which pydantic's parser rejects.
        if b"\\ud" not in data.lower():
            raise RecordError(f"{place}: is not JSON: {error}") from error
    try:
        return from_json(json.dumps(json.loads(data), ensure_ascii=False).encode("utf-8", "replace"))
    except (ValueError, RecursionError) as error:
        raise RecordError(f"{place}: is not JSON: {error}") from error


def validated(values: dict[str, Any], model: type[AnyRecord], place: str) -> AnyRecord:
    """Convert a parsed JSON object to a record, migrating it from earlier schemas.

    Args:
        values: The JSON object.
        model: The type of the record.
        place: Where the object is, for messages.

    Raises:
        RecordError: The object is not such a record. The message names place and key.
    """
    try:
        return model.model_validate(_migrated(values, model.__name__))
    except ValidationError as error:
        raise RecordError(f"{place}: {first_problem(error)}") from error


def first_problem(error: ValidationError, key: str = "") -> str:
    """Return the first problem of a failed validation as one line, such as `limits.seconds: Field required`.

    Args:
        error: The error.
        key: The key of the validated value, if that is a part of something larger.
    """
    first = error.errors(include_url=False)[0]
    place = ".".join(str(part) for part in (key, *first["loc"]) if part != "")
    message = "unknown key" if first["type"] == "extra_forbidden" else first["msg"].removeprefix("Value error, ")
    return f"{place}: {message}" if place else message


def _migrated(values: dict[str, Any], name: str) -> dict[str, Any]:
    written = values.get("schema_version", 0)
    if not isinstance(written, int) or written >= SCHEMA:
        return values
    for number in range(written, SCHEMA):
        if change := MIGRATIONS.get((name, number)):
            values = change(values)
    return values | {"schema_version": SCHEMA}


def _with_flat_settings(facts: dict[str, Any]) -> dict[str, Any]:
    """Flatten the groups of settings that schema 0 had, and use the current names of settings."""
    if facts.get("solving") is None:
        return facts
    old = dict(facts["solving"])
    limits = {f"{name}_limit": value for name, value in old.pop("limits", {}).items()}
    mount = [folder for folder in old.pop("shown", "").split(":") if folder]
    renamed = {"agent_sandbox": old.pop("sandbox", "bubblewrap"), "mount": mount}
    if old.get("paper") == "digest":
        renamed["paper"] = "summary"
    return facts | {"solving": old | old.pop("generation", {}) | limits | renamed}


def _by_the_wall_clock(grade: dict[str, Any]) -> dict[str, Any]:
    """Mark the time limits of a grade as wall-clock time, which they were up to schema 2."""
    return grade | {"clock": "wall"}


def _without_edge_cases(record: dict[str, Any]) -> dict[str, Any]:
    """Call what passed correct and robust, which is the same up to schema 3: there were no edge cases."""
    names = {"passed": ("correct", "robust"), "claimed_passed": ("claimed_correct", "claimed_robust")}
    return {new: value for key, value in record.items() for new in names.get(key, (key,))}


def _correct(state: dict[str, Any]) -> dict[str, Any]:
    """Call a state of an agent's workspace correct if it passed."""
    return {"correct" if key == "passed" else key: value for key, value in state.items()}


# Maps the type of a record and its schema to the function that migrates it to the next schema.
MIGRATIONS: Mapping[tuple[str, int], Callable[[dict[str, Any]], dict[str, Any]]] = {
    ("RunFacts", 0): _with_flat_settings,
    ("Grade", 2): _by_the_wall_clock,
    ("Grade", 3): _without_edge_cases,
    ("GradeHead", 3): _without_edge_cases,
    ("Claim", 3): _without_edge_cases,
    ("Verification", 3): _without_edge_cases,
    ("Snapshot", 3): _correct,
}


Item = TypeVar("Item")
Key = TypeVar("Key", bound=Hashable)


def grouped(items: Iterable[Item], key: Callable[[Item], Key]) -> dict[Key, list[Item]]:
    """Group items by key. Groups, and the items of each group, are in order of appearance."""
    groups: dict[Key, list[Item]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups
