"""Figures, drawn with matplotlib. Importing this module raises UsageError if matplotlib is not installed."""

from __future__ import annotations

import io
import re
import textwrap
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path

from lmrbench.errors import UsageError
from lmrbench.report.horizon import Horizon
from lmrbench.report.measures.rates import Rate
from lmrbench.text import printable

try:
    import matplotlib as mpl
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter, PercentFormatter, StrMethodFormatter
except ModuleNotFoundError as error:
    raise UsageError(f"figures need {error.name}, which is not installed; pip install 'lmrbench[figures]'") from error


def draw_suite(
    categories: Mapping[str, tuple[int, int | None]], lines: Mapping[str, tuple[int, int]], file: Path
) -> None:
    """Draw the number of tasks by category, and the masked lines of each task against the lines of its repository.

    Args:
        categories: The numbers of tasks in this suite and in the published benchmark that it follows, by title of the
            category. The second number is None if it is not known.
        lines: The number of masked lines and the number of lines of the repository, by task.
        file: The file to write; its suffix selects the format.

    Raises:
        UsageError: matplotlib does not write this format.
    """
    with mpl.rc_context({"svg.hashsalt": "lmrbench", "svg.fonttype": "none", "font.size": 9}):
        figure = Figure(figsize=(10, 4), layout="constrained")
        left, right = figure.subplots(1, 2)
        places = range(len(categories))
        left.barh([place - 0.2 for place in places], [here for here, _ in categories.values()], 0.4, label="this suite")
        published = [count or 0 for _, count in categories.values()]
        if any(published):
            left.barh([place + 0.2 for place in places], published, 0.4, label="published edition", color="lightgrey")
            left.legend()
        left.set(yticks=places, yticklabels=list(categories), xlabel="tasks")
        left.invert_yaxis()
        right.scatter([repository for _, repository in lines.values()], [masked for masked, _ in lines.values()], s=14)
        right.set(xlabel="lines of the repository", ylabel="masked lines")
        try:
            figure.savefig(file, metadata={"Date": None} if file.suffix == ".svg" else None)
        except ValueError as error:
            raise UsageError(f"--figure {file}: {error}") from error


def draw_rates(of_systems: Mapping[str, Rate]) -> str:
    """Draw the rate of each system with its intervals over tasks and over papers.

    Args:
        of_systems: Rates that are defined, by system.

    Returns:
        An SVG element.
    """
    figure = Figure(figsize=(_WIDTH, 0.9 + 0.5 * len(of_systems)), layout="constrained")
    axes = figure.subplots()
    for place, item in enumerate(of_systems.values()):
        rate = _known(item.correct)
        axes.plot([_known(item.low), _known(item.high)], [place - 0.1] * 2, color="C0", linewidth=3)
        if item.paper_low is not None and item.paper_high is not None:
            axes.plot([item.paper_low, item.paper_high], [place + 0.15] * 2, color="C1", linewidth=3)
        axes.plot([rate, rate], [place - 0.28, place + 0.33], color="black", linewidth=2)
    lines = [Line2D([], [], color=color, linewidth=3) for color in ("C0", "C1")]
    figure.legend(lines, ["over tasks", "over papers"], loc="outside upper center", ncols=2, frameon=False)
    _label_places(axes, list(of_systems))
    _percent_axis(axes.xaxis)
    axes.set(xlim=(-0.02, 1.02), xlabel="correct")
    return _svg(figure, "rates")


def draw_categories(groups: Mapping[str, Mapping[str, Rate]], systems: Sequence[str]) -> str:
    """Draw the rate of each system in each category with its interval over tasks.

    Args:
        groups: Rates by category and system.
        systems: The systems to draw; their order determines their colors.

    Returns:
        An SVG element.
    """
    step = 0.8 / len(systems)
    height = 0.8 + len(groups) * max(0.4, 0.17 * len(systems)) + 0.2 * len(systems)
    figure = Figure(figsize=(_WIDTH, height), layout="constrained")
    axes = figure.subplots()
    for number, system in enumerate(systems):
        for place, of_systems in enumerate(groups.values()):
            item = of_systems.get(system)
            if item is not None and item.correct is not None:
                _point(axes, number, item.correct, place - 0.4 + (number + 0.5) * step, item)
    if len(systems) > 1:
        _legend(figure, {system: number for number, system in enumerate(systems)})
    _label_places(axes, [name.replace("_", " ") for name in groups])
    _percent_axis(axes.xaxis)
    axes.set(xlim=(-0.02, 1.02), xlabel="correct")
    return _svg(figure, "categories")


def draw_costs(dollars: Mapping[str, float], of_systems: Mapping[str, Rate]) -> str:
    """Draw the pass rate of each system against its cost per answer.

    Args:
        dollars: The cost per answer, by system, of the systems with known prices; not empty.
        of_systems: Rates that are defined, by system; their order determines the colors, as in `draw_categories`.

    Returns:
        An SVG element.
    """
    figure = Figure(figsize=(_WIDTH, 3.2 + 0.2 * len(dollars)), layout="constrained")
    axes = figure.subplots()
    numbers = {system: number for number, system in enumerate(of_systems) if system in dollars}
    for system, number in numbers.items():
        item = of_systems[system]
        _point(axes, number, dollars[system], _known(item.correct), item, upright=True)
    least, most = min(dollars.values()), max(dollars.values())
    if least > 0 and most > 10 * least:
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 3)))
        axes.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
        axes.xaxis.set_minor_formatter(NullFormatter())
    else:
        axes.set_xlim(0, most * 1.1 or 1)
    _legend(figure, numbers)
    _percent_axis(axes.yaxis)
    axes.set(ylim=(-0.02, 1.02), xlabel="dollars per answer", ylabel="pass rate")
    axes.grid(color="0.9")
    return _svg(figure, "costs")


def draw_progress(curves: Mapping[str, Sequence[float]], systems: Sequence[str]) -> str:
    """Draw the mean share of cases that match after each turn of an agent.

    Args:
        curves: The shares from turn 0 on, by system.
        systems: All systems of the report; their order determines their colors.

    Returns:
        An SVG element.
    """
    figure = Figure(figsize=(_WIDTH, 3.2 + 0.2 * len(curves)), layout="constrained")
    axes = figure.subplots()
    numbers = {system: number for number, system in enumerate(systems) if system in curves}
    for system, number in numbers.items():
        shares = curves[system]
        axes.plot(
            range(len(shares)),
            shares,
            color=f"C{number % 10}",
            drawstyle="steps-post",
            marker=_MARKERS[number % len(_MARKERS)],
            markersize=5,
            # A few markers make the lines distinguishable without color and do not hide them.
            markevery=max(1, len(shares) // 8),
        )
    _legend(figure, numbers)
    _percent_axis(axes.yaxis)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set(ylim=(-0.02, 1.02), xlabel="turns", ylabel="cases that match")
    axes.grid(color="0.9")
    return _svg(figure, "progress")


def draw_horizons(horizons: Sequence[Horizon], systems: Sequence[str]) -> str:
    """Draw the share of forensic tasks that each system is expected to solve, against the number of changes.

    Args:
        horizons: The horizons of some systems; not empty.
        systems: All systems of the report; their order determines their colors.

    Returns:
        An SVG element.
    """
    figure = Figure(figsize=(_WIDTH, 3.2 + 0.2 * len(horizons)), layout="constrained")
    axes = figure.subplots()
    numbers = {item.system: systems.index(item.system) for item in horizons}
    for item in horizons:
        number = numbers[item.system]
        color, marker = f"C{number % 10}", _MARKERS[number % len(_MARKERS)]
        axes.plot(list(item.shares), list(item.shares.values()), color=color, marker=marker, markersize=5)
        # The interval of the horizon is drawn near one half; small offsets keep intervals from hiding each other.
        height = 0.5 + 0.02 * (number - (len(systems) - 1) / 2)
        axes.plot([item.low, item.high], [height, height], color=color, linewidth=2)
    changes = sorted({change for item in horizons for change in item.shares})
    axes.set_xscale("log")
    axes.set_xticks(changes, list(map(str, changes)))
    axes.xaxis.set_minor_formatter(NullFormatter())
    _legend(figure, numbers)
    _percent_axis(axes.yaxis)
    axes.set(ylim=(-0.02, 1.02), xlim=(0.25, 32), xlabel="changes", ylabel="solved")
    axes.grid(color="0.9")
    return _svg(figure, "horizons")


def draw_months(of_systems: Mapping[str, Rate], months: Mapping[str, Mapping[str, Rate]]) -> str:
    """Draw the rates by month, in one panel for each system.

    Args:
        of_systems: Rates over all tasks, by system; not empty.
        months: Rates that are defined, by month and system, sorted by month.

    Returns:
        An SVG element.
    """
    width = max(_WIDTH, 1.2 + 0.17 * len(months))
    figure = Figure(figsize=(width, 0.9 + 0.75 * len(of_systems)), layout="constrained")
    panels = figure.subplots(len(of_systems), sharex=True, squeeze=False)[:, 0]
    for number, (axes, (system, whole)) in enumerate(zip(panels, of_systems.items(), strict=True)):
        found = {place: items[system] for place, items in enumerate(months.values()) if system in items}
        color = f"C{number % 10}"
        axes.axhline(_known(whole.correct), color=color, linewidth=0.8)
        axes.vlines(list(found), 0, [_known(item.correct) for item in found.values()], color="0.8", linewidth=1)
        axes.scatter(
            list(found),
            [_known(item.correct) for item in found.values()],
            s=[12 * item.tasks for item in found.values()],
            color=color,
            marker=_MARKERS[number % len(_MARKERS)],
            zorder=2,
        )
        axes.set_title(_wrapped(system, 60), fontsize=9, loc="left", parse_math=False)
        axes.set(ylim=(-0.15, 1.15), yticks=[0, 0.5, 1], xlim=(-0.7, len(months) - 0.3))
        _percent_axis(axes.yaxis)
    papers = [max(item.papers for item in items.values()) for items in months.values()]
    labels = [f"{month} ({count})" for month, count in zip(months, papers, strict=True)]
    panels[-1].set_xticks(range(len(months)), labels, rotation=90, fontsize=8)
    return _svg(figure, "months")


# The width of figures in inches. It keeps text readable in a figure that is shown 400 pixels wide.
_WIDTH = 4.6
_MARKERS = "osD^vPX*"


def _point(axes: Axes, number: int, x: float, y: float, item: Rate, upright: bool = False) -> None:
    """Draw a rate as a point with its interval over tasks; the number of the system selects color and marker."""
    ends = [_known(item.low), _known(item.high)]
    axes.plot([x, x] if upright else ends, ends if upright else [y, y], color=f"C{number % 10}", linewidth=1.5)
    axes.plot([x], [y], color=f"C{number % 10}", marker=_MARKERS[number % len(_MARKERS)], markersize=5)


def _legend(figure: Figure, numbers: Mapping[str, int]) -> None:
    """Add a legend that names the systems, with the colors and markers that `_point` uses for their numbers."""
    shapes = [
        Line2D([], [], color=f"C{number % 10}", marker=_MARKERS[number % len(_MARKERS)]) for number in numbers.values()
    ]
    # matplotlib omits labels that start with an underscore.
    names = [f" {name}" if name.startswith("_") else name for name in (_wrapped(name, 48) for name in numbers)]
    legend = figure.legend(shapes, names, loc="outside upper center", frameon=False)
    for text in legend.get_texts():
        text.set_parse_math(False)


def _label_places(axes: Axes, names: Sequence[str]) -> None:
    """Label the positions 0, 1, ... of the y axis from top to bottom, and draw lines between them."""
    axes.set_yticks(range(len(names)), [_wrapped(name, 20) for name in names], parse_math=False)
    axes.set_ylim(len(names) - 0.5, -0.5)
    for place in range(len(names) - 1):
        axes.axhline(place + 0.5, color="0.9", linewidth=0.8)


def _percent_axis(axis: Axis) -> None:
    axis.set_major_formatter(PercentFormatter(1))


def _wrapped(name: str, width: int) -> str:
    return textwrap.fill(printable(name), width)


def _known(value: float | None) -> float:
    if value is None:
        raise ValueError("a system without an answer has no rate to draw")
    return value


def _svg(figure: Figure, name: str) -> str:
    """Return a figure as an SVG element. All ids in it start with `name`, so that several figures fit on one page."""
    file = io.StringIO()
    with mpl.rc_context({"svg.hashsalt": name, "svg.fonttype": "none"}), warnings.catch_warnings():
        # Glyphs that matplotlib lacks do not matter, because the browser draws the text with its own fonts.
        warnings.filterwarnings("ignore", message="Glyph")
        figure.savefig(file, format="svg", metadata=dict.fromkeys(("Creator", "Date", "Format", "Type")))
    _, start, body = file.getvalue().partition("<svg")
    body = re.sub(r'( id="|xlink:href="#|url\(#)', rf"\1{name}-", body)
    return start + re.sub(r' (?:width|height)="[\d.]+pt"', "", body, count=2)
