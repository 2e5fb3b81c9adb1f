"""Load the wrong versions of a task, which its check must reject.

A wrong version is a plausible mistake. Its author writes it as a whole file, `wrong/<task>/<name>.py`, or as edits in
`wrong/<task>.toml`. In that file, the key `base` contains a plain implementation of the target. Every other key is the
name of a version; its table gives the reason why the version is wrong, and the edits that turn `base` into it. Both
kinds are loaded as the text of a Python file whose docstring states which sentence of the paper or the instruction the
version violates. If the docstring begins with `Edge: `, the version may pass all ordinary cases.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import Field

from lmrbench.errors import TaskError
from lmrbench.records import Record
from lmrbench.tasks.edits import LineEdit, Sentence, edited
from lmrbench.tasks.files import parsed_table, read_text, read_text_if_there, validated


class EditedVersion(Record):
    """A wrong version, as described by a table of `wrong/<task>.toml`.

    Attributes:
        why: What is wrong with the version.
        edits: The edits that turn `base` into the version.
    """

    why: Sentence
    edits: tuple[LineEdit, ...] = Field(min_length=1)


def wrong_versions(folder: Path, task: str) -> dict[str, str]:
    """Load the wrong versions of a task.

    Args:
        folder: The paper folder.
        task: The name of the task.

    Returns:
        The text of each version by name, sorted by name.

    Raises:
        TaskError: A file is malformed, or two versions have the same name.
    """
    whole = {file.stem: read_text(file, folder.parent) for file in (folder / "wrong" / task).glob("*.py")}
    file = folder / "wrong" / f"{task}.toml"
    text = read_text_if_there(file, folder.parent)
    edited = _edited_versions(parsed_table(text, file), file) if text is not None else {}
    if twice := sorted(whole.keys() & edited.keys()):
        raise TaskError(f"{file}: {twice[0]}: the file {task}/{twice[0]}.py has the same name; remove one of them")
    return dict(sorted({**whole, **edited}.items()))


def breaks_only_edge_cases(text: str) -> bool:
    """Return whether the docstring of a wrong version begins with `Edge: `; such a version may pass ordinary cases."""
    return text.lstrip().strip("\"'").startswith("Edge: ")


def _edited_versions(table: dict[str, Any], file: Path) -> dict[str, str]:
    base = table.pop("base", None)
    if not isinstance(base, str):
        raise TaskError(f"{file}: the key `base` is missing; add the text that the edits apply to")
    return {
        name: _text(validated(EditedVersion, entry, file, name), base, f"{file}: {name}")
        for name, entry in table.items()
    }


def _text(version: EditedVersion, base: str, where: str) -> str:
    """Return the text of a version's file, with as many blank lines after its docstring as `ruff format` writes."""
    code = edited(base, version.edits, where).removesuffix("\n")
    gap = "\n\n" if code.startswith(("def ", "class ", "@")) else "\n"
    return f'"""{version.why}"""\n{gap}{code}\n'
