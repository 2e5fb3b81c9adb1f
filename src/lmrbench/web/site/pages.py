"""Render the pages of a site. The templates escape every value."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from importlib.resources import files
from typing import Any, NamedTuple

from jinja2 import Environment
from markupsafe import Markup

from lmrbench.records import grouped
from lmrbench.report.drawings import (
    MOST_COLOURS,
    MOST_PLACES,
    Drawing,
    draw_groups,
    draw_history,
    draw_overall,
    draw_prices,
    rated,
)
from lmrbench.report.measures.comparison import comparison_sheet
from lmrbench.report.measures.rates import Rate
from lmrbench.report.render import cells as formats
from lmrbench.report.render.html import environment
from lmrbench.web.prose import prose
from lmrbench.web.site.data import short
from lmrbench.web.site.records import Board, BoardCell, Site, Standing

# Punctuation after which a name may be broken. None of it occurs in HTML escapes such as `&#39;`.
_SIGN = re.compile(r"([/_.-])")
UNRECORDED = "–"
STATIC = ("style.css", "site.css", "site.js", "icon.svg")


class Answered(NamedTuple):
    """The answers of one system to one task, with their board and the system's standing on it."""

    board: Board
    standing: Standing
    cell: BoardCell


def pages(site: Site) -> dict[str, bytes]:
    """Render all files of a site, and return their contents by name."""
    made = _environment()

    def page(template: str, **values: Any) -> bytes:
        found = made.get_template(f"site_{template}.jinja")
        return found.render({"site": site, "current": "", **values}).encode()

    answers = [
        Answered(board, standings[cell.system], cell)
        for board in site.boards
        for standings in [{item.system: item for item in board.standings}]
        for cell in board.cells
    ]
    of_tasks = grouped(answers, lambda item: item.cell.task)
    of_systems = grouped(answers, lambda item: item.cell.system)
    runs = {run.number: run for run in site.runs}
    solving = {number for number, run in runs.items() if run.settings}
    tasks = {task.id: task for task in site.tasks}
    figures = {board.page: _drawings(board) for board in site.boards}
    costs = {name: [item for item in items if item.name == "costs"] for name, items in figures.items()}
    found = {
        "index.html": page("index", runs=runs, solving=solving, figures=costs),
        "grading.html": page("grading", ways=_ways(site)),
    }
    for board in site.boards:
        for item in figures[board.page]:
            found[_file_of(item, board)] = item.svg.encode()
        found[board.page] = page(
            "board",
            board=board,
            current=board.page,
            cells={(cell.task, cell.system): cell for cell in board.cells},
            tasks=tasks,
            figures=figures[board.page],
            compared=comparison_sheet(board.comparisons),
            categories=_categories_of(site, board.tasks),
        )
    for system, its in of_systems.items():
        parts = grouped(its, lambda item: item.board.page)
        run = runs[its[0].standing.run]
        categories = _categories_of(site, {item.cell.task for item in its})
        found[its[0].standing.page] = page(
            "system", name=system, run=run, parts=list(parts.values()), tasks=tasks, categories=categories
        )
    for task in site.tasks:
        instruction = prose(task.instruction) if task.instruction else None
        found[task.page] = page("task", task=task, places=of_tasks[task.id], instruction=instruction)
    for name in STATIC:
        found[name] = (files("lmrbench.web") / "static" / name).read_bytes()
    found["data.json"] = site.model_dump_json(indent=1).encode() + b"\n"
    return found


def _environment() -> Environment:
    made = environment("lmrbench.web", "pages")
    made.filters |= {
        "short": short,
        "breakable": _breakable,
        "share": formats.percent,
        "span": lambda ends: formats.span(*ends),
        "heat": _heat,
        "dollars": _dollars,
        "tokens": lambda item: _each(item, formats.tokens, "output_tokens"),
        "minutes": lambda item: _each(item, formats.minutes, "minutes"),
        "value": _value,
        "figure_of": _file_of,
    }
    made.globals["UNDEFINED"] = formats.UNDEFINED
    return made


def _drawings(board: Board) -> list[Drawing]:
    """Return the figures of a board. If the board has many systems, only those with the highest rates are shown."""
    rates = rated({item.system: item.rate for item in board.standings})
    dollars = {item.system: item.effort.dollars_per_answer for item in board.standings if item.effort is not None}
    groups = _by_group({item.system: item.categories for item in board.standings})
    months = _by_group({item.system: item.months for item in board.standings})
    found = [*draw_overall(rates, MOST_PLACES), *draw_prices(rates, dollars, MOST_COLOURS)]
    found += draw_groups(rates, groups, MOST_COLOURS) if len(groups) > 1 else []
    return [*found, *draw_history(rates, months, MOST_COLOURS)]


def _by_group(of_systems: Mapping[str, Mapping[str, Rate]]) -> dict[str, dict[str, Rate]]:
    """Return the rates by group (a category or month) and system, with the groups sorted by name."""
    groups: dict[str, dict[str, Rate]] = {}
    for system, items in of_systems.items():
        for name, rate in items.items():
            groups.setdefault(name, {})[system] = rate
    return dict(sorted(groups.items()))


def _file_of(item: Drawing, board: Board) -> str:
    return f"{board.page.removesuffix('.html')}-{item.name}.svg"


def _categories_of(site: Site, names: Iterable[str]) -> list[str]:
    chosen = set(names)
    return sorted({task.category for task in site.tasks if task.id in chosen})


def _ways(site: Site) -> int:
    """Return the number of distinct combinations of suite, harness and sandbox."""
    return len({(board.suite_digest, board.harness, board.sandbox) for board in site.boards})


def _breakable(name: str) -> Markup:
    """Return a name with line-break opportunities after its punctuation."""
    return Markup(_SIGN.sub(r"\1<wbr>", str(Markup.escape(name))))


def _heat(cell: BoardCell) -> int:
    """Return the colour level of a cell, from 0 (no answer is correct) to 4 (all answers are)."""
    return 0 if not cell.passes else 4 if cell.passes == cell.answers else 1 + int(3 * cell.passes / cell.answers)


def _value(text: str) -> float | str:
    """Return the number by which a cell is sorted, or an empty string if it has none."""
    numbers = text.numbers.values() if isinstance(text, formats.NumberedText) else ()
    return next((number for number in numbers if number is not None), "")


def _dollars(item: Standing) -> str:
    known = item.effort is not None and item.effort.passes and item.effort.dollars is not None
    return f"{'$' if known else ''}{_each(item, formats.dollars, 'dollars')}"


def _each(item: Standing, form: Any, name: str) -> str:
    """Format one of the costs per correct answer.

    The text is `UNRECORDED` if no usage was recorded, and `UNDEFINED` if no answer is correct.
    """
    if item.effort is None:
        return UNRECORDED
    text: str = form(getattr(item.effort, name)) if item.effort.passes else formats.UNDEFINED
    return text
