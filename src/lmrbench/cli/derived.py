"""Derive the options of a command from the fields of records."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import is_dataclass
from typing import Annotated, Any, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from typer import Option

from lmrbench.cli import options

_ADVANCED = ("model_args", "base_url", "connections", "retries", "patience")


def with_options(command: Callable[..., None]) -> Callable[..., None]:
    """Replace each parameter of a command that stands for a record by options, one for each field of the record.

    A record is a dataclass whose fields are annotated with options, or a pydantic model in an annotation such as
    `Annotated[dict[str, Any], Settings]`. For a pydantic model, the command receives the options that the user gave as
    a dictionary. If a field has the same name as another parameter of the command, that parameter defines the option.
    """
    own = inspect.signature(command, eval_str=True).parameters
    records = {name: fields for name, item in own.items() if (fields := _fields(item.annotation))}
    replaced = own.keys() & {field for fields in records.values() for field in fields}
    parameters: list[inspect.Parameter] = []
    for name, item in own.items():
        if name in records:
            parameters += (own.get(field, option) for field, option in records[name].items())
        elif name not in replaced:
            parameters.append(item)

    def called(**given: Any) -> None:
        made: dict[str, Any] = {}
        for name, fields in records.items():
            values, record = {field: given.pop(field) for field in fields if field not in own}, own[name].annotation
            without_absent = {field: value for field, value in values.items() if value is not None}
            made[name] = without_absent if get_origin(record) is Annotated else record(**values)
        command(**made, **given)

    by_name = [item.replace(kind=inspect.Parameter.KEYWORD_ONLY) for item in parameters]
    called.__signature__ = inspect.Signature(by_name)  # type: ignore[attr-defined]
    called.__annotations__ = {item.name: item.annotation for item in parameters}
    called.__name__, called.__doc__ = command.__name__, command.__doc__
    return called


def _fields(annotation: Any) -> Mapping[str, inspect.Parameter]:
    """Return an option for each field of a record, by name; {} if a parameter's annotation does not name a record."""
    if isinstance(annotation, type) and is_dataclass(annotation):
        return inspect.signature(annotation, eval_str=True).parameters
    models = [item for item in getattr(annotation, "__metadata__", ()) if isinstance(item, type)]
    fields = [field for model in models if issubclass(model, BaseModel) for field in model.model_fields.items()]
    return {name: _option(name, field) for name, field in fields if field.json_schema_extra}


def _option(name: str, field: FieldInfo) -> inspect.Parameter:
    extra: dict[str, Any] = field.json_schema_extra if isinstance(field.json_schema_extra, dict) else {}
    default, kind = field.default, field.annotation
    if get_origin(kind) in (tuple, dict):
        default, kind = None, list[str]
    panel = f"For the {extra['only']} setting" if "only" in extra else options.ADVANCED if name in _ADVANCED else None
    option = Option(
        *extra["flags"].split(),
        metavar=extra.get("metavar"),
        help=field.description,
        min=next((limit.ge for limit in field.metadata if hasattr(limit, "ge")), None),
        show_default=default != "",
        rich_help_panel=panel,
    )
    optional: Any = kind | None if default is None else kind  # type: ignore[operator]
    annotation = Annotated[optional, option]
    return inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=default, annotation=annotation)
