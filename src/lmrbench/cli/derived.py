"""Options of a command that are made from the fields of a record."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import is_dataclass
from typing import Annotated, Any, get_origin

from pydantic.fields import FieldInfo
from typer import Option

from lmrbench.cli import options
from lmrbench.models.settings import Settings

_ADVANCED = ("model_args", "base_url", "connections", "retries", "patience")


def with_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command an option for each field of each dataclass among its parameters.

    A command with a parameter `settings` also has an option for each field of `Settings`, and receives the given ones
    as a dictionary. A parameter of the command replaces the field of the same name.
    """
    own = inspect.signature(command, eval_str=True).parameters
    records: dict[str, Any] = {name: item.annotation for name, item in own.items() if is_dataclass(item.annotation)}
    fields = {name: inspect.signature(record, eval_str=True).parameters for name, record in records.items()}
    options = {
        name: own[name] if name in own else _option(name, field)
        for name, field in Settings.model_fields.items()
        if "settings" in own and field.json_schema_extra
    }
    of_settings = options.keys() - own.keys()

    def called(**given: Any) -> None:
        chosen = {name: value for name in options if name in of_settings and (value := given.pop(name)) is not None}
        made = {name: record(**{key: given.pop(key) for key in fields[name]}) for name, record in records.items()}
        command(**made, **({"settings": chosen} if "settings" in own else {}), **given)

    others = [item for name, item in own.items() if name not in ("settings", *records, *options)]
    parameters = [*options.values(), *(item for group in fields.values() for item in group.values()), *others]
    called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    called.__annotations__ = {item.name: item.annotation for item in parameters}
    called.__name__, called.__doc__ = command.__name__, command.__doc__
    return called


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
