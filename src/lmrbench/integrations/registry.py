"""The formats that `lmrbench export` writes: those of lmrbench, and those of other packages.

A package adds a format by an entry point of the group `lmrbench.exporters`: its name, and a function
`write(tasks, to, inputs)` that writes the tasks and yields each path when it is complete.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

from lmrbench.errors import UsageError

GROUP = "lmrbench.exporters"


@dataclass(frozen=True)
class Exporter:
    """A format of lmrbench.

    Attributes:
        about: one line for the help, in which PATH is that of --to.
        place: "module:name" of the function that writes it.
        goldens: whether the function takes `goldens=True`, and writes the answers too.
    """

    about: str
    place: str
    goldens: bool = False


EXPORTERS = {
    "workspace": Exporter("folders to edit, PATH/paper/task", "lmrbench.integrations.workspace:write"),
    "harbor": Exporter(
        "folders that Harbor runs, PATH/paper__task, with the answers where its agents do not see them",
        "lmrbench.integrations.harbor:write",
    ),
    "huggingface": Exporter("a dataset with a card", "lmrbench.integrations.huggingface:write", goldens=True),
    "jsonl": Exporter("the rows of a dataset in one file", "lmrbench.integrations.huggingface:write_rows"),
}
WITH_GOLDENS = " or ".join(name for name, item in EXPORTERS.items() if item.goldens)


def exporter(name: str, goldens: bool = False) -> Callable[..., Iterator[Path]]:
    """Return the function that writes a format.

    Args:
        name: the name of the format.
        goldens: whether the format must be able to write the answers too.

    Raises:
        UsageError: there is no such format, or it writes no answers.
    """
    if goldens and not (name in EXPORTERS and EXPORTERS[name].goldens):
        raise UsageError(f"--goldens needs --format {WITH_GOLDENS}")
    if name in EXPORTERS:
        entry = EntryPoint(name, EXPORTERS[name].place, GROUP)
    else:
        foreign = {item.name: item for item in entry_points(group=GROUP)}
        if name not in foreign:
            raise UsageError(f"--format {name}: unknown format; use {', '.join([*EXPORTERS, *sorted(foreign)])}")
        entry = foreign[name]
    found: Callable[..., Iterator[Path]] = entry.load()
    return found
