"""The formats of `lmrbench export`: those that are built in, and those that other packages add.

A package adds a format with an entry point in the group `lmrbench.exporters`. The entry point has the name of the
format and refers to a function `write(tasks, to, inputs)`, which writes the tasks and yields each path when it is
complete.
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
    """A built-in format.

    Attributes:
        about: one line of help text, in which PATH stands for the value of --to.
        place: the function that writes the format, in the notation "module:name".
        goldens: whether the function accepts the argument `goldens=True`, with which it writes the answers, too.
    """

    about: str
    place: str
    goldens: bool = False


EXPORTERS = {
    "workspace": Exporter("folders for solvers, PATH/paper/task", "lmrbench.integrations.workspace:write"),
    "harbor": Exporter(
        "task folders for Harbor, PATH/paper__task; they contain the answers, which Harbor's agents can't see",
        "lmrbench.integrations.harbor:write",
    ),
    "huggingface": Exporter("a dataset with a card", "lmrbench.integrations.huggingface:write", goldens=True),
    "jsonl": Exporter("the dataset as a single JSON Lines file", "lmrbench.integrations.huggingface:write_rows"),
}
WITH_GOLDENS = " or ".join(name for name, item in EXPORTERS.items() if item.goldens)


def exporter(name: str, goldens: bool = False) -> Callable[..., Iterator[Path]]:
    """Return the function that writes a format.

    Args:
        name: the name of the format.
        goldens: whether the format must be able to write the answers, too.

    Raises:
        UsageError: the format is unknown, or `goldens` is true and the format can't write answers.
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
