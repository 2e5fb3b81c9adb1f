"""The tables that `lmrbench task new --since` prints."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from lmrbench.authoring.listing.additions import Addition
from lmrbench.authoring.listing.versions import Additions
from lmrbench.report.render.tables import Sheet, in_one_line, sheet

# Definitions with fewer lines are left out of the table of definitions, but are in the JSON output.
FEWEST_LINES = 6
_MOST_LETTERS = 60
_GPU = {"no": "", "may": "may need a GPU", "needs": "needs a GPU"}


def additions_sheets(found: Additions) -> list[Sheet]:
    """Return the table of folders and files to which a package version adds definitions, and one of the definitions."""
    title = f"New in {found.package}{f' ({found.date})' if found.date else ''} since {found.since}"
    parts: dict[str, list[Addition]] = {}
    for item in found.new:
        parts.setdefault(item.part, []).append(item)
    by_part = sheet(
        title,
        ("folder or file", "first version", "functions", "lines", "without GPU", "papers", "named in"),
        [_part(part, items) for part, items in parts.items()],
        numbers=("functions", "lines", "without GPU"),
        spare=("named in",),
    )
    shown = [item for item in found.new if item.lines >= FEWEST_LINES]
    each = sheet(
        f"{len(shown)} functions, classes and methods of {FEWEST_LINES} lines or more, out of {len(found.new)}",
        ("target", "kind", "lines", "GPU", "callers", "first version", "papers", "named in", "parameters"),
        map(_row, shown),
        numbers=("lines", "callers"),
        spare=("kind", "named in", "callers", "parameters"),
    )
    return [by_part, each]


def _part(part: str, items: Sequence[Addition]) -> tuple[object, ...]:
    code = [item for item in items if item.kind != "class"]
    named = dict.fromkeys(paper for item in items for paper in item.papers)
    where = dict.fromkeys(item.named_in for item in items if item.papers)
    return (
        part,
        _version(min(items, key=lambda item: item.date)),
        len(code),
        sum(item.lines for item in code),
        sum(item.gpu == "no" for item in code),
        _papers(named),
        ", ".join(where),
    )


def _row(item: Addition) -> tuple[object, ...]:
    parameters = in_one_line(", ".join(item.parameters), _MOST_LETTERS)
    return (
        item.target,
        item.kind,
        item.lines,
        _GPU[item.gpu],
        len(item.callers),
        _version(item),
        _papers(item.papers),
        item.named_in,
        parameters,
    )


def _version(item: Addition) -> str:
    return f"{item.version} ({item.date})" if item.date else item.version


def _papers(papers: Iterable[str]) -> str:
    first, *others = [*papers, ""]
    return f"{first} and {len(others) - 1} more" if len(others) > 1 else first
