"""Which pages a site has, and what is on each. Everything that is not ours is escaped, by the templates alone."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from importlib.resources import files
from typing import Any, NamedTuple

from jinja2 import Environment
from markupsafe import Markup

from lmrbench.records import grouped
from lmrbench.report.figures import draw_categories, draw_costs, draw_rates
from lmrbench.report.measures.rates import Rate
from lmrbench.web.prose import prose
from lmrbench.web.serving import templates
from lmrbench.web.site.data import Board, Cell, Site, Standing, short
from lmrbench.web.site.feed import anchor, feed
from lmrbench.web.site.figures import themed

# Of systems in a figure; more can't be told apart in it.
_MOST_DRAWN, _MOST_IN_COLOUR = 30, 10
# Not within what stands for an escaped letter.
_SIGN = re.compile(r"([/_.-])")
UNDEFINED, UNRECORDED, UNKNOWN = "not defined", "not recorded", "not known"
STATIC = ("style.css", "site.css", "site.js", "icon.svg")


class Figure(NamedTuple):
    """A figure, and what it shows, in whole sentences."""

    title: str
    svg: Markup
    note: str


class Place(NamedTuple):
    """Where the answers of one system to one task stand."""

    board: Board
    standing: Standing
    cell: Cell


def pages(site: Site) -> dict[str, bytes]:
    """All files of a site, by name."""
    environment = _environment()

    def page(template: str, **values: Any) -> bytes:
        found = environment.get_template(f"site_{template}.jinja")
        return found.render({"site": site, "current": "", **values}).encode()

    places = [
        Place(board, standings[cell.system], cell)
        for board in site.boards
        for standings in [{item.system: item for item in board.standings}]
        for cell in board.cells
    ]
    of_tasks = grouped(places, lambda item: item.cell.task)
    of_systems = grouped(places, lambda item: item.cell.system)
    runs = {run.number: run for run in site.runs}
    tasks = {task.id: task for task in site.tasks}
    found = {
        "index.html": page("index", runs=runs, figures={board.page: list(_costs(board)) for board in site.boards}),
        "grading.html": page("grading", ways=_ways(site)),
    }
    for board in site.boards:
        cells = {(cell.task, cell.system): cell for cell in board.cells}
        figures = [*_rates(board), *_costs(board), *_categories(board)]
        shown = {"board": board, "current": board.page, "cells": cells, "tasks": tasks, "figures": figures}
        found[board.page] = page("board", **shown, categories=_categories_of(site, board.tasks))
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
    found["feed.xml"] = feed(site)
    return found


def _environment() -> Environment:
    environment = templates()
    environment.filters |= {
        "short": short,
        "anchor": anchor,
        "breakable": _breakable,
        "share": _share,
        "span": _span,
        "points": _points,
        "difference": lambda value: f"{100 * value:+z.1f}",
        "p": _p,
        "heat": _heat,
        "dollars": lambda item: _each(item, "dollars", "${:,.4f}"),
        "tokens": lambda item: _each(item, "output_tokens", "{:,.0f}"),
        "minutes": lambda item: _each(item, "minutes", "{:,.2f}"),
    }
    environment.globals["UNDEFINED"] = UNDEFINED
    return environment


def _rates(board: Board) -> Iterator[Figure]:
    rated = _rated(board)
    if drawn := _first(rated, _MOST_DRAWN):
        note = (
            "The rate of each system, with its 95% intervals over tasks (Wilson) and over papers. Whether two systems "
            "differ is not read off overlapping intervals, but off the comparison of pairs."
        )
        note += _left_out(rated, drawn)
        yield Figure("Answers that pass", themed(draw_rates(drawn), board.page[:-5]), note)


def _costs(board: Board) -> Iterator[Figure]:
    dollars = {
        item.system: item.effort.dollars_per_answer
        for item in board.standings
        if item.effort is not None and item.effort.dollars_per_answer is not None
    }
    priced = {name: rate for name, rate in _rated(board).items() if name in dollars}
    if drawn := _first(priced, _MOST_IN_COLOUR):
        note = (
            "Dollars for one graded answer, on average, against the rate with its 95% Wilson interval. Systems "
            "without known prices are missing; prices are those of the day of the run."
        )
        svg = draw_costs({name: dollars[name] for name in drawn}, drawn)
        yield Figure("Cost and rate", themed(svg, board.page[:-5]), note + _left_out(priced, drawn))


def _categories(board: Board) -> Iterator[Figure]:
    rated = _rated(board)
    drawn = _first(rated, _MOST_IN_COLOUR)
    groups: dict[str, dict[str, Rate]] = {}
    for item in board.standings:
        for name, rate in item.categories.items():
            groups.setdefault(name, {})[item.system] = rate
    if drawn and len(groups) > 1:
        note = (
            "The rate of each system in each category, with 95% Wilson intervals over tasks. Categories hold few "
            "tasks; most differences between them may be chance."
        )
        svg = draw_categories(dict(sorted(groups.items())), list(drawn))
        yield Figure("By category", themed(svg, board.page[:-5]), note + _left_out(rated, drawn))


def _rated(board: Board) -> dict[str, Rate]:
    """The systems that have a rate, the best first."""
    return {item.system: item.rate for item in board.standings if item.rate.passed is not None}


def _first(rates: Mapping[str, Rate], most: int) -> dict[str, Rate]:
    return dict(list(rates.items())[:most])


def _left_out(every: Mapping[str, Rate], drawn: Mapping[str, Rate]) -> str:
    if len(every) == len(drawn):
        return ""
    return f" Of {len(every)} systems, those with the {len(drawn)} highest rates are drawn."


def _categories_of(site: Site, names: Iterable[str]) -> list[str]:
    chosen = set(names)
    return sorted({task.category for task in site.tasks if task.id in chosen})


def _ways(site: Site) -> int:
    """How many suites and graders the boards are of."""
    return len({(board.suite_digest, board.harness, board.sandbox) for board in site.boards})


def _breakable(name: str) -> Markup:
    """A name that is broken after its signs, where it has to be."""
    return Markup(_SIGN.sub(r"\1<wbr>", str(Markup.escape(name))))


def _share(value: float | None) -> str:
    return UNDEFINED if value is None else f"{value:.1%}"


def _span(ends: tuple[float | None, float | None]) -> str:
    low, high = ends
    return UNDEFINED if low is None or high is None else f"{low:.0%} to {high:.0%}"


def _points(ends: tuple[float | None, float | None]) -> str:
    low, high = ends
    return UNDEFINED if low is None or high is None else f"{100 * low:+z.1f} to {100 * high:+z.1f}"


def _p(value: float | None) -> str:
    return UNDEFINED if value is None else "< 0.001" if value < 0.001 else f"{value:.3f}"


def _heat(cell: Cell) -> int:
    """How warm a cell is, from 0 for none that passes to 4 for all."""
    return 0 if not cell.passes else 4 if cell.passes == cell.answers else 1 + int(3 * cell.passes / cell.answers)


def _each(item: Standing, name: str, form: str) -> str:
    """What an answer that passes takes, or why that is no number."""
    if item.effort is None:
        return UNRECORDED
    if not item.effort.passes:
        return UNDEFINED
    value = getattr(item.effort, name)
    return UNKNOWN if value is None else form.format(value)
