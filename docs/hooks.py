"""The mkdocs hook that adds the options of all commands to the documentation."""

from __future__ import annotations

from typing import Any

import typer
from typer.cli import get_docs_for_click

from lmrbench.cli import COMMANDS


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Append the help of all commands to the page of commands; mkdocs calls this for every page."""
    if page.file.src_uri != "commands.md":
        return markdown
    parts = []
    for name, entry in COMMANDS.items():
        command = entry.load(name)
        context = typer.Context(command, info_name=name)
        for inner, of_group in entry.entries.items():
            command.commands[inner] = of_group.load(inner)  # type: ignore[union-attr]
        parts.append(get_docs_for_click(obj=command, ctx=context, name=name, indent=1, call_prefix="lmrbench"))
    return "\n".join([markdown, *parts])
