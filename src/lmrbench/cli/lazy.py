"""Groups of commands whose modules are imported when a command is called."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup


@dataclass(frozen=True)
class Entry:
    """A command of the command line, or a group of commands.

    Attributes:
        help: The first line of the command's help.
        place: The function or Typer app to import, as "module:name" with a module of `lmrbench.cli`; "" for a group
            with `entries`.
        panel: The panel that lists the command in the help of lmrbench.
        entries: The commands of a group.
    """

    help: str
    place: str = ""
    panel: str | None = None
    entries: Mapping[str, Entry] = field(default_factory=dict)

    def load(self, name: str) -> TyperCommand | TyperGroup:
        """Import the command and return it under this name."""
        if self.entries:
            return LazyGroup(self.entries, name=name, help=self.help, no_args_is_help=True, rich_markup_mode="rich")
        module, _, attribute = self.place.partition(":")
        app = getattr(import_module(f"lmrbench.cli.{module}"), attribute)
        if not isinstance(app, typer.Typer):
            function, app = app, typer.Typer(add_completion=False, rich_markup_mode="markdown")
            app.command(name)(function)
        command: TyperCommand | TyperGroup = typer.main.get_command(app)  # type: ignore[assignment]
        command.name = name
        return command


class LazyGroup(TyperGroup):
    """A group that lists its commands from a table, and imports a command only when it is called."""

    def __init__(self, entries: Mapping[str, Entry], **attributes: Any) -> None:
        super().__init__(**attributes)
        self.entries = entries
        for name, entry in entries.items():
            self.commands[name] = TyperCommand(name, help=entry.help, rich_help_panel=entry.panel)

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """Import the command that the first argument names."""
        name, command, rest = super().resolve_command(ctx, args)
        if name is not None and name in self.entries:
            command = self.entries[name].load(name)
        return name, command, rest


def group(text: str) -> typer.Typer:
    """Return a Typer app for a group of commands; `text` is the help of the group."""
    app = typer.Typer(no_args_is_help=True, add_completion=False, rich_markup_mode="markdown", help=text)
    # Without a callback, Typer turns an app with one command into that command.
    app.callback()(lambda: None)
    return app
