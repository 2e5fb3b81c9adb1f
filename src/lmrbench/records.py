"""What is a record, and how do records outlive the version that wrote them?

A `StoredRecord` carries the number of the schema that it was written under. One of an earlier schema is brought up to
date by `MIGRATIONS` as it is read. One of a later schema is read as far as it is understood, and what is not understood
is kept and written again. Of this schema, an unknown key is an error, as it is in every other record.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, model_validator

# Of everything that is stored. Raise it with each change that a reader of old files would notice, and say in
# MIGRATIONS how to get there from the number before. Records that carry no number are of schema 0.
SCHEMA = 1


class Record(BaseModel):
    """Base of every record: frozen, and unknown keys are an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Part(Record):
    """A record that stands inside of stored ones: what a later schema added to it is kept."""

    model_config = ConfigDict(extra="allow")


class StoredRecord(Record):
    """A record that is written to a file which may be read years later."""

    model_config = ConfigDict(extra="allow")

    schema_version: int = Field(default=SCHEMA, ge=0)

    @model_validator(mode="before")
    @classmethod
    def _up_to_date(cls, data: Any) -> Any:
        if not isinstance(data, Mapping):
            return data
        values = dict(data)
        written = values.get("schema_version", 0)
        if not isinstance(written, int) or written > SCHEMA:
            return values
        for number in range(written, SCHEMA):
            for change in MIGRATIONS.get((cls.__name__, number), ()):
                values = change(values)
        if unknown := sorted(values.keys() - cls.model_fields.keys()):
            raise ValueError(f"{unknown[0]}: unknown key")
        return values | {"schema_version": SCHEMA}


def _flat_settings(values: dict[str, Any]) -> dict[str, Any]:
    """Schema 0 held what a model was asked under in groups, and called two of the settings otherwise."""
    if (solving := values.get("solving")) is None:
        return values
    flat = dict(solving)
    groups = flat.pop("generation", {}), {f"{name}_limit": value for name, value in flat.pop("limits", {}).items()}
    flat |= {name: value for group in groups for name, value in group.items()}
    flat |= {"agent_sandbox": flat.pop("sandbox"), "mount": [item for item in flat.pop("shown").split(":") if item]}
    return values | {"solving": flat}


# By the record's name and the schema that it was written under: what brings it one schema further.
MIGRATIONS: Mapping[tuple[str, int], tuple[Callable[[dict[str, Any]], dict[str, Any]], ...]] = {
    ("RunFacts", 0): (_flat_settings,),
}
