"""What are the wrong versions of a task: whole files, and edits of one text?

`wrong/<task>/<name>.py` is a version as it stands. `wrong/<task>.toml` holds those that differ from its `base`, the
target in a plain form, in a few lines: a table by name, which says what is wrong and which lines take the place of
which. Both come out as the text of a Python file that begins with a docstring.
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
    """One table of `wrong/<task>.toml`. why: what is wrong with the version."""

    why: Sentence
    edits: tuple[LineEdit, ...] = Field(min_length=1)


def wrong_versions(folder: Path, task: str) -> dict[str, str]:
    """The wrong versions of a task of this paper folder, sorted by name."""
    whole = {file.stem: read_text(file, folder.parent) for file in (folder / "wrong" / task).glob("*.py")}
    file = folder / "wrong" / f"{task}.toml"
    text = read_text_if_there(file, folder.parent)
    edited = _edited_versions(parsed_table(text, file), file) if text is not None else {}
    if twice := sorted(whole.keys() & edited.keys()):
        raise TaskError(f"{file}: {twice[0]}: there is a file {task}/{twice[0]}.py too")
    return dict(sorted({**whole, **edited}.items()))


def _edited_versions(table: dict[str, Any], file: Path) -> dict[str, str]:
    base = table.pop("base", None)
    if not isinstance(base, str):
        raise TaskError(f"{file}: base: a text is needed, which the versions are edits of")
    return {
        name: _text(validated(EditedVersion, entry, file, name), base, f"{file}: {name}")
        for name, entry in table.items()
    }


def _text(version: EditedVersion, base: str, where: str) -> str:
    """The file that a version stands for, with the blank lines that ruff puts below a docstring."""
    code = edited(base, version.edits, where).removesuffix("\n")
    gap = "\n\n" if code.startswith(("def ", "class ", "@")) else "\n"
    return f'"""{version.why}"""\n{gap}{code}\n'
