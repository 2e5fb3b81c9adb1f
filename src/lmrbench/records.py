"""What is a record, and how do records outlive the version that wrote them?

A `StoredRecord` carries the number of the schema that it was written under. `read_record` brings one of an earlier
schema up to date by the table `MIGRATIONS`. One of a later schema is read as far as it is understood; what is not
understood is kept, and written again. In a record of this schema an unknown key is an error.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic_core import from_json

from lmrbench.errors import RecordError

# Of everything that is stored. Raise it with each change that a reader of old files would notice, and say in
# MIGRATIONS how to get there from the number before. Records without a number are of schema 0.
SCHEMA = 3


class Record(BaseModel):
    """Base of every record: frozen, and unknown keys are an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Part(Record):
    """A record inside of stored ones: what a later schema added to it is kept."""

    model_config = ConfigDict(extra="allow")


class StoredRecord(Record):
    """A record that is written to a file which may be read years later."""

    model_config = ConfigDict(extra="allow")

    schema_version: int = Field(default=SCHEMA, ge=0)

    @model_validator(mode="after")
    def _known_keys(self) -> StoredRecord:
        if self.schema_version <= SCHEMA and self.model_extra:
            raise ValueError(f"{min(self.model_extra)}: unknown key")
        return self


AnyRecord = TypeVar("AnyRecord", bound=Record)


def read_record(data: bytes, model: type[AnyRecord], place: str) -> AnyRecord:
    """The record that a JSON object holds. Raises RecordError, naming the place and the key at fault."""
    values = parsed_json(data, place)
    if not isinstance(values, dict):
        raise RecordError(f"{place}: is not a JSON object")
    return validated(values, model, place)


def parsed_json(data: bytes, place: str) -> Any:
    """What a JSON text says. Raises RecordError, naming the place."""
    try:
        return from_json(data)
    except ValueError as error:
        # Python's own parser takes lone surrogates, which it writes itself; no file can hold them.
        if b"\\ud" not in data.lower():
            raise RecordError(f"{place}: is not JSON: {error}") from error
    try:
        return from_json(json.dumps(json.loads(data), ensure_ascii=False).encode("utf-8", "replace"))
    except (ValueError, RecursionError) as error:
        raise RecordError(f"{place}: is not JSON: {error}") from error


def validated(values: dict[str, Any], model: type[AnyRecord], place: str) -> AnyRecord:
    """The record that parsed JSON holds. Raises RecordError, naming the place and the key at fault."""
    try:
        return model.model_validate(_migrated(values, model.__name__))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        key = ".".join(str(part) for part in first["loc"])
        raise RecordError(
            f"{place}: {key + ': ' if key else ''}{first['msg'].removeprefix('Value error, ')}"
        ) from error


def _migrated(values: dict[str, Any], name: str) -> dict[str, Any]:
    written = values.get("schema_version", 0)
    if not isinstance(written, int) or written >= SCHEMA:
        return values
    for number in range(written, SCHEMA):
        if change := MIGRATIONS.get((name, number)):
            values = change(values)
    return values | {"schema_version": SCHEMA}


def _with_flat_settings(facts: dict[str, Any]) -> dict[str, Any]:
    """Schema 0 held some settings of a model in groups, and had other names for two settings of agents."""
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
    """Up to schema 2 all time limits were counted by the wall clock."""
    return grade | {"clock": "wall"}


# By the name of the record and the schema that it was written under: what brings it one schema further.
MIGRATIONS: Mapping[tuple[str, int], Callable[[dict[str, Any]], dict[str, Any]]] = {
    ("RunFacts", 0): _with_flat_settings,
    ("Grade", 2): _by_the_wall_clock,
}


Item = TypeVar("Item")
Key = TypeVar("Key", bound=Hashable)


def grouped(items: Iterable[Item], key: Callable[[Item], Key]) -> dict[Key, list[Item]]:
    """The items by key; groups, and items within a group, keep their order."""
    groups: dict[Key, list[Item]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups
