"""Figures with titles and notes, for the HTML page of a report and for the leaderboard."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from lmrbench.report.measures.rates import Rate

# A figure can distinguish at most this many systems by position, and this many by color.
MOST_PLACES, MOST_COLOURS = 30, 10


class Drawing(NamedTuple):
    """A figure.

    Attributes:
        name: An identifier for file names.
        title: The title, a noun phrase.
        svg: The figure as an SVG element.
        note: Sentences that explain the figure and its limits.
    """

    name: str
    title: str
    svg: str
    note: str


def drawings(numbers: Mapping[str, Any]) -> list[Drawing]:
    """Draw the figures of one part of a report. The result is empty if no system has a rate.

    Args:
        numbers: The numbers of the part; see `lmrbench.report.build.ReportPart`.
    """
    from lmrbench.report.figures import draw_horizons, draw_progress

    rates: dict[str, dict[str, Rate]] = dict(numbers["rates"])
    answered = rated(rates.pop("all", {}))
    if not answered:
        return []
    dollars = {system: item.dollars_per_answer for system, item in numbers["effort"].items()}
    found = [*draw_overall(answered), *draw_prices(answered, dollars)]
    if curves := numbers["curves"]:
        found.append(
            Drawing(
                "progress",
                "Progress over turns",
                draw_progress(curves, list(answered)),
                "The share of cases that match after each turn of a traced agent (one whose code was graded after each "
                "turn), as a mean over tasks. After an agent finishes, its last value counts for all later turns. "
                "Matching cases give no partial credit: an answer is correct only if all ordinary cases match.",
            )
        )
    if horizons := numbers["horizons"]:
        found.append(
            Drawing(
                "horizons",
                "Reproduction horizons",
                draw_horizons(horizons, list(answered)),
                "The share of the forensic tasks of a new paper that each system is expected to solve, by number of "
                "changes. The shares are estimated with a statistical model. The horizontal bars near 50% are the 95% "
                "intervals of the horizons.",
            )
        )
    found += draw_groups(answered, {name: rated(items) for name, items in rates.items() if rated(items)})
    return [*found, *draw_history(answered, numbers["months"])]


def rated(rates: Mapping[str, Rate]) -> dict[str, Rate]:
    """Return the rates that are defined, by system."""
    return {system: item for system, item in rates.items() if item.correct is not None}


def draw_overall(rates: Mapping[str, Rate], most: int | None = None) -> list[Drawing]:
    """Draw the pass rates of systems. The result is empty if there are no rates.

    Args:
        rates: Rates that are defined, by system.
        most: The largest number of systems to draw, in the order of `rates`; None for all.
    """
    from lmrbench.report.figures import draw_rates

    if not rates:
        return []
    drawn = _first(rates, most)
    note = (
        "The pass rate of each system (black) with its 95% intervals over tasks (Wilson) and over papers. Overlapping "
        "intervals do not show whether two systems differ; see the paired comparison."
    )
    return [Drawing("rates", "Pass rates", draw_rates(drawn), note + _left_out(rates, drawn))]


def draw_prices(
    rates: Mapping[str, Rate], dollars: Mapping[str, float | None], most: int | None = None
) -> list[Drawing]:
    """Draw the pass rates of systems against their costs per answer. The result is empty if no costs are known.

    Args:
        rates: See `draw_overall`.
        dollars: The cost per answer, by system; None if unknown.
        most: See `draw_overall`.
    """
    from lmrbench.report.figures import draw_costs

    known = {system: value for system, value in dollars.items() if value is not None}
    priced = {system: item for system, item in rates.items() if system in known}
    if not priced:
        return []
    drawn = _first(priced, most)
    svg = draw_costs({system: known[system] for system in drawn}, rates if most is None else drawn)
    note = (
        "The pass rate, with its 95% Wilson interval, against the mean dollars per graded answer. Systems without "
        "known prices are omitted; costs are based on the prices on the day of the run."
    )
    return [Drawing("costs", "Costs and pass rates", svg, note + _left_out(priced, drawn))]


def draw_groups(
    rates: Mapping[str, Rate], groups: Mapping[str, Mapping[str, Rate]], most: int | None = None
) -> list[Drawing]:
    """Draw the pass rates of systems in each category. The result is empty if there are no rates.

    Args:
        rates: See `draw_overall`.
        groups: Rates that are defined, by category and system.
        most: See `draw_overall`.
    """
    from lmrbench.report.figures import draw_categories

    if not rates:
        return []
    drawn = _first(rates, most)
    note = (
        "The pass rate of each system in each category, with 95% Wilson intervals over tasks. Categories have few "
        "tasks, so most differences between them may be due to chance."
    )
    svg = draw_categories(groups, list(drawn))
    return [Drawing("categories", "Pass rates by category", svg, note + _left_out(rates, drawn))]


def draw_history(
    rates: Mapping[str, Rate], months: Mapping[str, Mapping[str, Rate]], most: int | None = None
) -> list[Drawing]:
    """Draw the pass rates of systems by the month of the tasks. The result is empty for fewer than two months.

    Args:
        rates: See `draw_overall`.
        months: Rates by month and system, sorted by month. The month of a task is the one in which its method became
            public.
        most: See `draw_overall`.
    """
    from lmrbench.report.figures import draw_months

    known = {month: found for month, items in months.items() if (found := rated(items))}
    if len(known) < 2:
        return []
    drawn = _first(rates, most)
    note = (
        "The pass rate of each system on the tasks of each month (marks, larger for more tasks) and on all tasks "
        "(line). The month of a task is the one in which its method became public, in the paper or in a released "
        "package; months without tasks are not shown. The number of papers of each month is in parentheses. Most "
        "months have too few papers to draw conclusions about other papers."
    )
    return [Drawing("months", "Pass rates by month", draw_months(drawn, known), note + _left_out(rates, drawn))]


def _first(rates: Mapping[str, Rate], most: int | None) -> dict[str, Rate]:
    return dict(list(rates.items())[:most])


def _left_out(every: Mapping[str, Rate], drawn: Mapping[str, Rate]) -> str:
    if len(every) == len(drawn):
        return ""
    return f" Of {len(every)} systems, the {len(drawn)} with the highest rates are drawn."
