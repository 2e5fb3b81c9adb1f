"""What are the wrong versions of a task: whole files, and edits of one text?

`wrong/<task>/<name>.py` is a version as it stands. `wrong/<task>.toml` holds those that differ from its `base`, the
target in a plain form, in a few lines: a table by name, which says what is wrong and which lines take the place of
which. Both come out as the text of a Python file that begins with a docstring.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from pydantic import Field, StringConstraints

from lmrbench.errors import TaskError
from lmrbench.records import Record
from lmrbench.tasks.files import read_table, read_text, validated

# What stands between the quotation marks of a docstring of one line.
Sentence = Annotated[str, StringConstraints(pattern=r'^[^\n\\]*[^\s\\"]$')]


class Edit(Record):
    """Whole lines that stand in the base once, and those that take their place."""

    old: str = Field(min_length=1)
    new: str


class EditedVersion(Record):
    """One table of `wrong/<task>.toml`. why: what is wrong with the version."""

    why: Sentence
    edits: tuple[Edit, ...] = Field(min_length=1)


def wrong_versions(folder: Path, task: str) -> dict[str, str]:
    """The wrong versions of a task of this paper folder, sorted by name."""
    whole = {file.stem: read_text(file) for file in (folder / "wrong" / task).glob("*.py")}
    file = folder / "wrong" / f"{task}.toml"
    edited = _edited_versions(file) if file.is_file() else {}
    if twice := sorted(whole.keys() & edited.keys()):
        raise TaskError(f"{file}: {twice[0]}: there is a file {task}/{twice[0]}.py too")
    return dict(sorted({**whole, **edited}.items()))


def _edited_versions(file: Path) -> dict[str, str]:
    table = read_table(file)
    base = table.pop("base", None)
    if not isinstance(base, str):
        raise TaskError(f"{file}: base: a text is needed, which the versions are edits of")
    return {
        name: _text(validated(EditedVersion, entry, file, name), _lines(base), f"{file}: {name}")
        for name, entry in table.items()
    }


def _text(version: EditedVersion, base: Sequence[str], where: str) -> str:
    """The file that a version stands for, with the blank lines that ruff puts below a docstring."""
    code = "\n".join(_edited(base, version.edits, where))
    gap = "\n\n" if code.startswith(("def ", "class ", "@")) else "\n"
    return f'"""{version.why}"""\n{gap}{code}\n'


def _edited(base: Sequence[str], edits: Sequence[Edit], where: str) -> list[str]:
    lines = list(base)
    places = [(_place(base, edit, where), edit) for edit in edits]
    untouched = len(base)
    # From the last edit to the first, so that the places of those before it stay what they were.
    for place, edit in sorted(places, key=lambda item: item[0], reverse=True):
        end = place + len(_lines(edit.old))
        if end > untouched:
            raise TaskError(f"{where}: another edit changes lines of {edit.old!r} too")
        lines[place:end] = _lines(edit.new)
        untouched = place
    return lines


def _place(base: Sequence[str], edit: Edit, where: str) -> int:
    """The number of the line of the base at which the old lines of an edit begin."""
    old = _lines(edit.old)
    if old == _lines(edit.new):
        raise TaskError(f"{where}: an edit changes nothing: {edit.old!r}")
    places = [place for place in range(len(base)) if base[place : place + len(old)] == old]
    if len(places) != 1:
        raise TaskError(f"{where}: the old lines must stand in base once, not {len(places)} times: {edit.old!r}")
    return places[0]


def _lines(text: str) -> list[str]:
    return text.removesuffix("\n").split("\n") if text else []
